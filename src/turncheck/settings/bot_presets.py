"""What the kinds of bots fill in: the shapes of well-known APIs, as their vendors describe them.

Each is written like ``bot:`` in ``turncheck.yml``, whose keys come on top. Sources: OpenAI's OpenAPI description (chat
completions); Microsoft's description of Direct Line 3.0; Google's discovery document of Dialogflow CX v3
(``sessions.detectIntent``); AWS's service model of Lex Runtime V2 (``RecognizeText``); Voiceflow's Dialog Manager API
(``/state/user/{userID}/interact``, which needs no key for each session as ``/v4/interact`` does); Rasa's REST channel;
Kore.ai's webhook channel, version 2.

Of these, only OpenAI's answers say how many tokens they took: of Dialogflow CX a trace of version v3beta1 does, not v3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAVE_EMPTY_OUT: Final = frozenset({"dialogflow-cx", "lex-v2"})
"""Those whose answers have neither a list of messages where the bot says nothing, nor slots where none is set."""

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "rest": {},
    "openai": {
        "request": {"path": "/v1/chat/completions", "body": {"messages": "{history}"}},
        "replies": "$.choices[0].message['content', 'refusal']",  # a refusal is said in place of the content
        "tools": "$.choices[0].message.tool_calls[*].function.name",
        "usage": {"input": "$.usage.prompt_tokens", "output": "$.usage.completion_tokens", "model": "$.model"},
    },
    "directline": {
        "session": {
            "open": {"path": "/v3/directline/conversations", "id": "$.conversationId"},
        },
        "request": {
            "path": "/v3/directline/conversations/{session}/activities",
            "body": {"type": "message", "from": {"id": "turncheck-{user}", "role": "user"}, "text": "{text}"},
        },
        "poll": {
            "path": "/v3/directline/conversations/{session}/activities?watermark={cursor}",
            "cursor": "$.watermark",
        },
        # What the user said is among them, and not always with a role.
        "replies": (
            "$.activities[?@.type == 'message' && @.from.role != 'user' && !match(@.from.id, 'turncheck-.*')].text"
        ),
        "buttons": {  # suggested actions are beside the text, a card's are within its content
            "path": (
                "$.activities[?@.type == 'message']['suggestedActions', 'attachments']..['actions', 'buttons'][*]"
            ),
            "payload": "$.value",
        },
        "ended": "$.activities[?@.type == 'endOfConversation']",
        "quiet": "1s",
    },
    "dialogflow-cx": {
        "request": {
            "path": "/sessions/{session}:detectIntent",
            "body": {"queryInput": {"text": {"text": "{text}"}, "languageCode": "en"}},
        },
        "replies": "$.queryResult.responseMessages[*].text.text[*]",
        "intent": "$.queryResult.match.intent.displayName",
        "confidence": "$.queryResult.match.confidence",
        "entities": "$.queryResult.match.parameters",
        "slots": "$.queryResult.parameters",
        "ended": "$.queryResult.responseMessages[*].endInteraction",
    },
    "lex-v2": {
        "session": {"echo": "$.sessionId"},
        "request": {"path": "/sessions/{session}/text", "body": {"text": "{text}"}},
        "replies": "$.messages[*].content",
        "intent": "$.interpretations[0].intent.name",
        "confidence": "$.interpretations[0].nluConfidence.score",
        "entities": {"path": "$.interpretations[0].intent.slots", "value": "$.value.interpretedValue"},
        "slots": {"path": "$.sessionState.intent.slots", "value": "$.value.interpretedValue"},
        "token": {"signature": "aws", "service": "lex"},
    },
    "voiceflow": {
        "session": {
            "open": {"path": "/state/user/{session}/interact", "body": {"action": {"type": "launch"}}},
        },
        "request": {
            "path": "/state/user/{session}/interact",
            "body": {"action": {"type": "text", "payload": "{text}"}},
        },
        "replies": "$[?@.type == 'text' || (@.type == 'speak' && @.payload.type != 'audio')].payload.message",
        "ended": "$[?@.type == 'end']",
        "token": {"header": "Authorization", "prefix": ""},
    },
    "rasa-rest": {
        "session": {"echo": "$[*].recipient_id"},
        "request": {
            "path": "/webhooks/rest/webhook",
            "body": {"sender": "{session}", "message": "{text}", "metadata": "{metadata}"},
        },
        "replies": "$[*].text",
    },
    "kore-webhook": {
        "request": {
            "path": "/",  # the address is that of the bot's webhook
            "body": {"message": {"type": "text", "val": "{text}"}, "from": {"id": "{user}"}},
        },
        "replies": "$.data[?@.type == 'text'].val",
    },
}
