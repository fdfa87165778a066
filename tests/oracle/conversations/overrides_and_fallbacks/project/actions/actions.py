from rasa_sdk import Action, FormValidationAction
from rasa_sdk.events import *
class M(Action):
    def name(self): return "action_measure"
    def run(self,d,t,dom):
        d.utter_message(text="measuring"); return [SlotSet("length", len(t.latest_message.get("text") or "")), FollowupAction("utter_greet")]
class S(Action):
    def name(self): return "action_session_start"
    def run(self,d,t,dom):
        d.utter_message(text="session starts"); return [SessionStarted(), SlotSet("srcp","home"), ActionExecuted("action_listen")]
class Aff(Action):
    def name(self): return "action_default_ask_affirmation"
    def run(self,d,t,dom):
        d.utter_message(text="really "+str([i.get("name") for i in t.latest_message.get("intent_ranking",[])][:2])+"?", buttons=[{"title":"y","payload":"/faq"}]); return []
class L(Action):
    def name(self): return "utter_listed"
    def run(self,d,t,dom):
        d.utter_message(text="from the server"); return []
class V(FormValidationAction):
    def name(self): return "validate_order_form"
    def validate_meal(self,v,d,t,dom):
        if v=="pizza": return {"meal":"pizza","size":"large"}
        return {"meal":v}
