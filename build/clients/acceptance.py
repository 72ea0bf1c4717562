"""A check for schemathesis: the server accepts what the description allows.

It asks schemathesis' own check positive_data_acceptance, and leaves out the refusals below, which no schema can express.
"""

import re

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

CHATS = ("/v1/chat/completions", "/api/v0/chat/completions")
RESPONSES, GENERATE = "/v1/responses", "/api/generate"
TEXTS = ("/v1/completions", "/api/v0/completions", "/v1/fim/completions", "/completion", "/infill")
MESSAGES = ("/v1/messages", "/v1/messages/count_tokens")
COUNT, COMPACT = "/v1/responses/input_tokens", "/v1/responses/compact"
ITEMS = (RESPONSES, COUNT, COMPACT)
TALKS = (*CHATS, *ITEMS, *MESSAGES, GENERATE, "/api/chat")
READS = ("/v1/embeddings", "/api/v0/embeddings", "/v1/rerank", "/v2/rerank", "/api/embed", "/api/embeddings")
PROMPTS = (*TALKS, *TEXTS, *READS)

# The routes that may send such a refusal, and its text. The refusals are about fields that do not go together, about the
# abilities of a model, and about models, texts and tokens that do not exist.
BEYOND_SCHEMAS = tuple((routes, re.compile(says, re.DOTALL)) for routes, says in (
    (TALKS, r"\S+ asks for a call, (?:and \S+ offers nothing to call|but what is offered \(.+\) runs on \w+'s servers, not here): .+\."),
    (TALKS, r'\S+ names ".*" with the type "\w+", but its type is "\w+"\.'),
    (TALKS, r'\S+ names ".*", which (?:is not in \S+|runs on \w+\'s servers, not here: .+)\.'),
    (TALKS, r'\S+ (?:"\w+" )?is not supported: this endpoint takes text only; [^.]+\.'),  # in the user's last message
    (TALKS, r"\S+ cannot be read: (?:its data|its text|only text) [^.]+\."),  # a file there
    (TALKS, r"The tools cannot be offered (?:so that a call is certain|beside \S+): .+\."),
    ((*CHATS, "/api/chat"), r"functions is not read here; send it as tools\."),  # where there are tools
    (TALKS, r'\S+ and another tool are both ".*" for the model; rename one of them\.'),
    (CHATS, r"top_logprobs needs logprobs to be true\."),
    (TEXTS, r"suffix needs the prompt as text\."),
    (TEXTS, r"echo cannot be combined with suffix\."),
    ((*TEXTS, GENERATE), r"The model \S+ has no fill-in-the-middle tokens; send the prompt without a suffix\."),
    ((GENERATE,), r"system cannot be combined with raw\."),
    (TEXTS, r"best_of must be at least n \(\d+\), not \d+\."),
    (TEXTS, r"best_of must be n \(\d+\) in a stream: .+\."),
    (TEXTS, r"prompt asks for \d+ continuations \(prompts times n, or best_of\); \d+ are allowed in one request\."),
    (READS, r"dimensions is \d+, but embeddings of \S+ have \d+; ask for fewer, or leave it out\."),
    (READS, r"The texts up to \S+ have \d+ tokens; \d+ are allowed in one request\. Send them in several\."),
    (MESSAGES, r"messages hold nothing but an empty message of the system's; add one of the user's\."),
    (ITEMS, r"input holds nothing to answer(?:; send a message|, only items that are left out here .+; send a message too)\."),
    ((COUNT, COMPACT), r"input is missing: send a text, or a list of items\."),  # or previous_response_id
    (PROMPTS, r'.+ names ".*" twice\.'),  # names that are not UTF-8 become equal
    ((*TEXTS, *READS, "/detokenize"), r"\S+ holds token id \d+; the model's ids are below \d+\."),
    (PROMPTS, r'\S+(?: prompt)? holds the token ".*", whose id \d+ the model \S+ does not know: its ids are below \d+\. Leave the token out\.'),
    ((*TALKS, *TEXTS), r"The field \S+ holds no tokens at all; send some text\."),
    (PROMPTS, r"This model's maximum context length is \d+ tokens\. However, .+\."),
    (MESSAGES, r"prompt is too long: (?:at least )?\d+ tokens > \d+ maximum"),
    ((RESPONSES, *MESSAGES), r"The prompt has \d+ tokens, more than the \d+ of \S+, and is not shortened here: .+\."),
    (MESSAGES, r"\S+ is \d+, and the conversation has \d+ tool uses, which are not cleared here: leave old ones out\."),
    (READS, r"The model \S+ (?:generates text|makes embeddings); .+ by models such as \S+\."),
    (TALKS, r"The model's chat template refuses these messages: .+"),
    ((*TALKS, *TEXTS), r'speculation\.drafter "\S+" is not there for this model; it has .+'),
    ((*TALKS, *TEXTS), r"logit_bias names token \d+; the vocabulary has \d+"),
    ((*TALKS, *TEXTS), r"No answer can be held to that form: .+"),
    (("/v1/models",), r'(?:before_id|after_id) names no model of the list: ".*"\.'),
    (("/v1/models",), r"before_id cannot be combined with after_id\."),
    (("/v1/responses/{id}/input_items",), r'after names no item of this response: ".*"\.'),
    (ITEMS, r"Previous response with id '.*' not found: .+\."),
    (("/v1/responses/{id}/cancel",), r"Only a response in the background can be cancelled; .+\."),
))


def message(response):
    error = response.json().get("error", "")
    return error if isinstance(error, str) else error["message"]


def beyond(route, says):
    """Returns whether a route refuses for a reason that no schema can express."""
    return any(route in routes and reason.fullmatch(says) for routes, reason in BEYOND_SCHEMAS)


@schemathesis.check
def acceptance(ctx, response, case):
    if response.status_code == 400 and beyond(case.operation.path, message(response)):
        return None
    return positive_data_acceptance(ctx, response, case)
