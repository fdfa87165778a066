"""The names that every CALM assistant has by default, by Rasa's documentation: patterns, actions, responses, slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import DEFAULT_ACTIONS, DEFAULT_SLOTS

if TYPE_CHECKING:
    from collections.abc import Mapping

PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "pattern_cancel_flow": ("action_cancel_flow",),
    "pattern_cannot_handle": (),
    "pattern_chitchat": (),
    "pattern_clarification": ("action_clarify_flows",),
    "pattern_code_change": ("action_clean_stack",),
    "pattern_collect_information": ("action_run_slot_rejections", "action_listen"),
    "pattern_completed": (),
    "pattern_continue_interrupted": (),
    "pattern_correction": ("action_correct_flow_slot",),
    "pattern_customer_satisfaction": (),
    "pattern_external_agent_processing": (),
    "pattern_human_handoff": (),
    "pattern_internal_error": (),
    "pattern_repeat_bot_messages": ("action_repeat_bot_messages",),
    "pattern_restart": ("action_restart",),
    "pattern_search": (),
    "pattern_session_start": (),
    "pattern_skip_question": (),
    "pattern_user_silence": (),
    "pattern_validate_slot": ("action_run_slot_rejections",),
}
"""The patterns, and the actions without which each does not do what it is for."""

ACTIONS: Final = frozenset(
    {
        *DEFAULT_ACTIONS,
        *("action_block_digressions", "action_cancel_flow", "action_cancel_interrupted_flows", "action_clarify_flows"),
        *("action_clean_stack", "action_continue_digression", "action_continue_interrupted_flow"),
        *("action_correct_flow_slot", "action_hangup", "action_repeat_bot_messages", "action_reset_routing"),
        *("action_run_slot_rejections", "action_send_text", "action_set_language", "action_switch_language"),
        *(
            "action_handoff_metric",
            "action_trigger_chitchat",
            "action_trigger_flow",
            "action_trigger_search",
            "action_validate_slot_mappings",
        ),
        *(
            "action_human_handoff",
            "action_handoff_metric",
            "action_external_agent_processing",
            "action_update_langchain_config",
        ),
    }
)

INTENTS: Final = frozenset({"silence_timeout", "session_end"})
"""Those that channels send, beside the ones of every assistant."""

RESPONSES: Final = frozenset(
    {
        *("utter_ask_rephrase", "utter_ask_still_there", "utter_ask_confirm_slot_correction"),
        *("utter_ask_continue_interrupted_flow_confirmation", "utter_ask_interrupted_flow_to_continue"),
        *("utter_ask_language", "utter_block_digressions", "utter_boolean_slot_rejection"),
        *("utter_can_do_something_else", "utter_cannot_handle", "utter_categorical_slot_rejection"),
        *("utter_clarification_options_rasa", "utter_continue_interruption", "utter_corrected_previous_input"),
        *("utter_customer_satisfaction", "utter_default", "utter_float_slot_rejection"),
        *("utter_flow_cancelled_rasa", "utter_flow_continue_interrupted", "utter_free_chitchat_response"),
        *("utter_human_handoff_not_available", "utter_inform_code_change", "utter_inform_hangup"),
        *("utter_internal_error_rasa", "utter_no_knowledge_base", "utter_no_relevant_answer_found"),
        *("utter_not_corrected_previous_input", "utter_out_of_scope", "utter_skip_question_answer"),
        *("utter_troubled_by_technical_issues", "utter_user_input_empty_error_rasa"),
        *("utter_ask_continue_conversation", "utter_ask_csat_score", "utter_closing_words"),
        *("utter_csat_thank_you_satisfied", "utter_csat_thank_you_unsatisfied"),
        *("utter_user_input_too_long_error_rasa", "utter_what_can_help_with", "utter_restart", "utter_back"),
    }
)

WORDS: Final = frozenset(
    {
        *("able", "about", "access", "afraid", "again", "agent", "and", "answer", "anything", "are", "around"),
        *("assist", "assistance", "available", "base", "been", "best", "bit", "but", "can", "cannot", "case"),
        *("characters", "code", "complete", "concise", "connected", "continue", "conversation", "correct", "could"),
        *("couldn", "dialog", "dialogue", "did", "don", "else", "empty", "end", "essential", "exactly"),
        *("expectations", "experience", "feedback", "few", "for", "from", "fully", "further", "glad", "has"),
        *("have", "haven", "having", "heard", "hello", "help", "here", "how", "human", "information", "input"),
        *("invalid", "keep", "kindly", "know", "knowledge", "length", "like", "long", "meet", "message", "minutes"),
        *("moment", "more", "need", "not", "now", "number", "okay", "one", "options", "order", "our", "out"),
        *("please", "point", "previous", "process", "provide", "provided", "rate", "reasonable", "rephrase"),
        *("request", "respectively", "respond", "responded", "response", "restart", "resume", "right", "running"),
        *("satisfied", "scratch", "seamless", "see", "seems", "select", "shortly", "something", "sorry", "start"),
        *("step", "still", "stopping", "tell", "thank", "that", "the", "there", "these", "this", "today"),
        *("together", "too", "trained", "trouble", "try", "unable", "understand", "update", "updating", "valid"),
        *("value", "want", "what", "which", "will", "with", "within", "would", "wrap", "you", "your"),
    }
)
"""The words of what these responses say in English, names and values aside, where a project does not override them."""

SLOTS: Final = frozenset(
    {
        *DEFAULT_SLOTS,
        *("confirm_correction", "continue_conversation", "csat_score", "max_clarification_options"),
        *("confirm_slot_correction", "consecutive_silence_timeouts", "continue_interrupted_flow_confirmation"),
        *("dialogue_stack", "flow_hashes", "interrupted_flow_to_continue", "language", "return_value"),
        *("route_session_to_calm", "silence_timeout", "ask_confirm_digressions", "continue_digression"),
        *("mocked_datetime", "user_channel", "session_metadata"),
    }
)


def may_be_built_in(response: str) -> bool:
    """Whether a response may be one that a version of Rasa brings: their names end so, or are known."""
    return response in RESPONSES or response.endswith("_rasa")
