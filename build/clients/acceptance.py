"""A check for schemathesis: what the description allows is accepted, but for what no schema can say.

As its own check positive_data_acceptance, which it asks, without the refusals below.
"""

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

# What such a refusal says: of fields that do not go together, of what a model can do, and of what is there.
BEYOND_SCHEMAS = (
    "offers nothing to call",  # tool_choice without tools
    "which is not in ",  # or of another
    "has no room for",  # a call beside a form
    "cannot be combined with",
    "needs logprobs to be true",
    "needs the prompt as text",  # suffix
    "best_of must be ",
    "are allowed in one request",  # prompts, each n times
    "hold nothing but an empty message",
    "holds nothing to answer",  # items that are passed over
    " twice",  # a member by two of its names
    "ids are below",  # of a prompt of tokens, the model's
    "holds no tokens at all",
    "maximum context length",
    "prompt is too long",
    "models such as",  # the model generates texts
    "chat template",  # has no place for the messages
    "fill-in-the-middle",
    "is not there for this model",  # a drafter
    "held to that form",  # a schema or a grammar that is none
    "so that a call is certain",
    "names no ",  # item, or model, behind which a list is to begin
    "Previous response with id",
    "Only a response in the background can be cancelled",
)


def message(response):
    error = response.json().get("error", "")
    return error if isinstance(error, str) else error["message"]


@schemathesis.check
def acceptance(ctx, response, case):
    if response.status_code == 400 and any(text in message(response) for text in BEYOND_SCHEMAS):
        return None
    return positive_data_acceptance(ctx, response, case)
