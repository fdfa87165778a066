import json
from rasa_sdk import Action, FormValidationAction, ValidationAction
from rasa_sdk.events import *
from rasa_sdk.interfaces import ActionExecutionRejection

def make(name_, fn):
    class A(Action):
        def name(self): return name_
        def run(self, d, t, dom): return fn(d, t, dom) or []
    A.__name__ = "A_" + name_
    return A

def say(d, *texts):
    for x in texts: d.utter_message(text=x)

def multi(d,t,dom):
    say(d,"m1"); return [SlotSet("flag", True), SlotSet("a_num", 3), SlotSet("ghost", 1), AllSlotsReset(), SlotSet("anyslot", {"k":[1,{"z":None}]}), SlotSet("flag", True)]
def many(d,t,dom):
    d.utter_message(text="t", buttons=[{"title":"a","payload":"/b"}], elements=[{"title":"E","subtitle":"S"}], json_message={"j":{"k":1}}, image="im", attachment="at", foo="bar", quick_replies=[{"title":"q"}])
    d.utter_message(response="utter_ask_b_color", buttons=[{"title":"more","payload":"/m"}], text="overridden")
    d.utter_message(response="utter_missing")
    d.utter_message(text="")
    d.utter_message()
    d.utter_message(response="utter_done_a", a_name="K", a_num=[1])
    d.utter_message(template="utter_hi")
def fake(d,t,dom): return [ActionExecuted("action_listen"), UserUttered('/inform{"num": 4}', {"intent":{"name":"inform","confidence":0.7},"entities":[{"entity":"num","value":4},{"entity":"city","role":"to","value":"X"}],"text":"zzz"})]
def extras(d,t,dom):
    say(d,"ex"); return [{"event":"agent","text":"ag","data":{"a":1}},{"event":"export"},{"event":"slot","name":"flag","value":"yes","metadata":{"m":1},"timestamp":5},{"event":"bot","text":"raw bot","data":{"buttons":[{"title":"z","payload":"/z"}],"image":"ii"},"metadata":{"utter_action":"utter_raw"}},{"event":"form","name":None},{"event":"form_validation","validate":True},{"event":"entities","entities":[{"entity":"name","value":"E"}]}]
def echo(d,t,dom):
    s=t.current_state(); 
    say(d, json.dumps({k:s.get(k) for k in ("slots","paused","followup_action","latest_action_name","latest_input_channel","active_loop")}|{"ev":[e["event"]+":"+str(e.get("name")) for e in s["events"]][-6:],"keys":sorted(s),"lm":s["latest_message"], "dom":sorted(dom), "evkeys":[sorted(e) for e in s["events"]][-3:]}, sort_keys=True))
def twice(d,t,dom):
    say(d,"tw"); return [FollowupAction("utter_hi"), FollowupAction("utter_chat")]
A=[make("action_pause", lambda d,t,dom:[ConversationPaused()]),
make("action_resume", lambda d,t,dom:[ConversationResumed()]),
make("action_undo_mid", lambda d,t,dom:(say(d,"undoing"),[SlotSet("flag",True),ActionReverted(),SlotSet("flag",True)])[1]),
make("action_fakeuser", fake), make("action_multi", multi), make("c_form", lambda d,t,dom: say(d,"custom form "+str(t.active_loop))),
make("action_nothing", lambda d,t,dom: None), make("action_many", many),
make("action_setreq", lambda d,t,dom:[ActiveLoop("a_form"),SlotSet("requested_slot","a_num")]),
make("action_session_do", lambda d,t,dom:[SlotSet("a_num",9),SessionStarted(),ActionExecuted("action_listen")]),
make("action_restart_do", lambda d,t,dom:[SlotSet("flag",True),Restarted()]),
make("action_reminder", lambda d,t,dom:[{"event":"reminder","intent":"chat","entities":{"name":"x"},"date_time":"2999-01-01T00:00:00","name":"r","kill_on_user_msg":True},ReminderCancelled(name="r")]),
make("action_unknown_event", lambda d,t,dom:(say(d,"ue"),[{"event":"whatever"}])[1]),
make("action_bad_answer", lambda d,t,dom:[{"event":"slot","name":5,"value":1}]),
make("action_no_value", lambda d,t,dom:[{"event":"slot","name":"flag"}]),
make("action_extras", extras),
make("action_twice", twice),
make("action_loopset", lambda d,t,dom:[ActiveLoop("b_form")]),
make("action_reset_all", lambda d,t,dom:[SlotSet("flag",True),AllSlotsReset()]),
make("action_follow_form", lambda d,t,dom:[SlotSet("a_name","pre"),FollowupAction("a_form")]),
make("action_followup_restart", lambda d,t,dom:[FollowupAction("action_restart")]),
make("action_entity_add", lambda d,t,dom:[{"event":"entities","entities":[{"entity":"name","value":"E"}]},FollowupAction("action_echo")]),
make("action_user_feat", lambda d,t,dom:[{"event":"user_featurization","use_text_for_featurization":True}]),
make("action_rejected_manual", lambda d,t,dom:(say(d,"rej"),[ActionExecutionRejected("action_rejected_manual")])[1]),
make("action_echo", echo),
make("action_ask_b_tags", lambda d,t,dom:(say(d,"tags? "+str(t.get_slot("requested_slot"))),[SlotSet("anyslot","asked")])[1])]
for i,a in enumerate(A): globals()["A%d"%i]=a

class VB(FormValidationAction):
    def name(self): return "validate_b_form"
    async def required_slots(self, domain_slots, d, t, dom):
        return domain_slots + (["a_num"] if t.get_slot("b_color")=="green" else [])
    def validate_b_color(self, v, d, t, dom):
        if v=="red": d.utter_message(text="red it is"); return {"b_color":v}
        if v=="green": return {"b_color":v, "flag":True}
        if v=="end": return {"requested_slot":None}
        if v=="loopend": return {"b_color":"x"}
        d.utter_message(text="no "+str(v)); return {"b_color":None}
    def validate_b_tags(self, v, d, t, dom):
        return {"b_tags": v if v!=["bad"] else None}
class VS(ValidationAction):
    def name(self): return "action_validate_slot_mappings"
    def validate_sole(self, v, d, t, dom):
        d.utter_message(text="sole="+str(v)); return {"sole": str(v).upper()}
