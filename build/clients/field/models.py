"""Folders of models as they are published, written small."""

import json
import os

import tiny
from bodies import CHAT, HI, MESSAGES, ok, tool
from checks import expect, want
from tiny import ABSENT

CALL = "{% for m in messages %}{% if m.tool_calls %}{{ CALL }}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
NAME, ARGUMENTS = "m.tool_calls[0].function.name", "m.tool_calls[0].function.arguments"
TEMPLATES = {
    "joins text and arguments": CALL.replace("{{ CALL }}", "{{ " + NAME + " + '(' + " + ARGUMENTS + " + ')' }}"),
    "asks for content that is none, and joins": "{% for m in messages %}{% if m.tool_calls and m.content is none %}{{ "
    + NAME
    + " + '(' + "
    + ARGUMENTS
    + " + ')' }}{% elif m.content is not none %}{{ m.content }}{% endif %}\n{% endfor %}",
    "asks for content that is none": "{% for m in messages %}{% if m.tool_calls and m.content is none %}{{ "
    + NAME
    + " }}({{ "
    + ARGUMENTS
    + " | tojson }}){% elif m.content is not none %}{{ m.content }}{% endif %}\n{% endfor %}",
    "adds content, which is text": "{% for m in messages %}{{ m.content + '\n' }}{% if m.tool_calls %}{{ "
    + NAME
    + " + '(' + "
    + ARGUMENTS
    + " + ')' }}{% endif %}{% endfor %}",
    "walks through an object": "{% for m in messages %}{{ m.content + '\n' }}{% if m.tool_calls %}{{ "
    + NAME
    + " }}{% for k, v in "
    + ARGUMENTS
    + ".items() %}{{ k }}={{ v }}{% endfor %}{% endif %}{% endfor %}",
}


def add(s, path):
    """Registers a folder and returns its model's id."""
    status, said = s.tandem("models", "add", path)
    want(status == 0, f"models add: {said}")
    return said.splitlines()[0]  # what else is said comes after it


def not_added(s, path, *words):
    status, said = s.tandem("models", "add", path)
    want(status != 0 and all(w in said for w in words), f"models add ends with {status}: {said}")
    return said


def asked(s, stage, name, **how):
    """Returns the id of a model that is written so."""
    return add(s, tiny.folder(stage.folder, name, **how))


# What a template is given

ROUTES = {
    CHAT: lambda a: {
        "messages": HI
        + [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "herons", "arguments": json.dumps(a)}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "x"},
        ],
        "max_tokens": 1,
    },
    "/v1/responses": lambda a: {
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "a", "name": "herons", "arguments": json.dumps(a)},
            {"type": "function_call_output", "call_id": "a", "output": "x"},
        ],
        "max_output_tokens": 1,
    },
    MESSAGES: lambda a: {
        "messages": HI
        + [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "herons", "input": a}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
        ],
        "max_tokens": 1,
    },
    "/api/chat": lambda a: {
        "messages": HI
        + [
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "herons", "arguments": a}}]},
            {"role": "tool", "tool_name": "herons", "content": "x"},
        ],
        "options": {"num_predict": 1},
        "stream": False,
    },
}


def prompt_tokens(answer):
    body = ok(answer).json
    usage = body.get("usage") or {}
    if "cache_read_input_tokens" in usage:
        return usage["input_tokens"] + usage["cache_read_input_tokens"]
    return usage.get("prompt_tokens") or usage.get("input_tokens") or body.get("prompt_eval_count")


for i, (what, template) in enumerate(TEMPLATES.items()):
    for path, body in ROUTES.items():

        @expect("m2" if "none" in what else "m1", f"a call is in the prompt of a template that {what}", f"POST {path}, history with a call", "models")
        def _(s, stage, i=i, template=template, path=path, body=body):
            name = asked(s, stage, f"template-{i}", template=template)
            short, long = (prompt_tokens(s.post(path, {"model": name} | body({"k": "x" * n}))) for n in (1, 31))
            want(long == short + 30, f"{short} tokens with an argument of 1 character, {long} with 31")
            return f"{short} and {long} tokens"


TOOLED = "{% for t in tools %}{{ t | tojson }}{% endfor %}" + tiny.TEMPLATE
LISTS = {
    "a list of default and tool_use": {
        "tokenizer_config.json": {"chat_template": [{"name": "default", "template": tiny.TEMPLATE}, {"name": "tool_use", "template": TOOLED}]},
        "chat_template.jinja": None,
    },
    "a list of tool_use alone": {
        "tokenizer_config.json": {
            "chat_template": [{"name": "tool_use", "template": "{% if tools %}" + TOOLED + "{% else %}" + tiny.TEMPLATE + "{% endif %}"}]
        },
        "chat_template.jinja": None,
    },
    "an object of named texts": {
        "tokenizer_config.json": {"chat_template": {"default": tiny.TEMPLATE, "tool_use": TOOLED}},
        "chat_template.jinja": None,
    },
    "additional_chat_templates/tool_use.jinja": {"additional_chat_templates/tool_use.jinja": TOOLED},
}
for i, (what, files) in enumerate(LISTS.items()):

    @expect("m3", "where tools are passed, the model sees them", f"templates: {what}", "models")
    def _(s, stage, i=i, files=files):
        name = asked(s, stage, f"list-{i}", files=files)
        plain = prompt_tokens(s.chat(model=name))
        short, long = (prompt_tokens(s.chat(model=name, tools=[tool({"type": "object", "properties": {}}, description="x" * n)])) for n in (1, 31))
        want(short > plain and long == short + 30, f"{plain} tokens without a tool, {short} with one, {long} with one that is longer by 30")
        return f"{plain}, {short} and {long} tokens"


@expect("m3", "pull fetches the folder of further templates", "tandem pull org/name", "models")
def _(s, stage):
    files = tiny.contents(tiny.folder(stage.folder, "pulled", files=LISTS["additional_chat_templates/tool_use.jinja"]))
    hub, said = pulled(stage, files)
    want(any(a.startswith("GET") and a.endswith("additional_chat_templates/tool_use.jinja") for a in hub.asked), f"{said} {hub.asked}")
    return "GET additional_chat_templates/tool_use.jinja"


def pulled(stage, files, timeout=50, **how):
    """Pulls a model from a hub that has these files. Returns the hub and what was printed."""
    hub = tiny.Hub(files, **how)
    s = stage.serve("--model", "pocket", env={"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url})
    try:
        status, said = s.tandem("pull", "org/name", timeout=timeout)
        return hub, f"pull ends with {status}: {said}"
    finally:
        hub.close()
        s.stop()


# Sizes and weights

YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64, "beta_fast": 8}


@expect("m4", "YaRN's factor of attention is read", 'qwen3, yarn, "attention_factor": 1.0, 90 tokens', "models")
def _(s, stage):
    scaling = YARN | {"attention_factor": 1.0}
    config = {"model_type": "qwen3"} | tiny.COMMON | {"rope_scaling": scaling, "max_position_embeddings": 512}
    prompt = "The quick brown fox jumps over the lazy dog, and 12 herons look at it from 7 ponds: none moves."
    ids = [tiny.PRINTABLE.index({" ": "Ġ"}.get(c, c)) for c in prompt]
    for seed in range(20):  # until the factor matters, and no special token comes
        tensors = tiny.weights(config, seed)
        read, unread = (tiny.yarn_answer(tensors, config, ids, 12, factor) for factor in (1.0, 1.2079441541679836))
        if read != unread and max(read) < tiny.END:
            break
    else:
        want(False, "the check distinguishes nothing")
    name = asked(s, stage, "yarn", kind="qwen3", tensors=tensors, rope_scaling=scaling, max_position_embeddings=512)
    text = ok(s.complete(prompt, model=name, max_tokens=12)).json["choices"][0]["text"]
    expected = "".join({"Ġ": " ", "Ċ": "\n"}.get(tiny.PRINTABLE[i], tiny.PRINTABLE[i]) for i in read)
    want(text == expected, f"{text!r}, by the formula {expected!r}")
    return repr(text)


@expect("m4", "a rope section with an unknown key is refused", 'rope_scaling with "zebra": 1', "models")
def _(s, stage):
    return not_added(s, tiny.folder(stage.folder, "zebra", kind="qwen3", rope_scaling=YARN | {"zebra": 1}), "zebra")


def own_head(kind, **fields):
    return tiny.weights({"model_type": kind} | tiny.COMMON | tiny.MORE[kind] | fields, head=True)


for kind in tiny.MORE:

    @expect("m5", "a head in the file counts where the config does not say", f"{kind} without tie_word_embeddings, with lm_head", "models")
    def _(s, stage, kind=kind):
        texts = []
        for i, tied in enumerate((ABSENT, False, True)):
            name = asked(s, stage, f"head-{kind}-{i}", kind=kind, tensors=own_head(kind), tie_word_embeddings=tied)
            texts.append(ok(s.complete("The heron", model=name, max_tokens=12)).json["choices"][0]["text"])
        absent, own, tied = texts
        want(absent == own != tied, f"absent {absent!r}, false {own!r}, true {tied!r}")
        return f"{absent!r}, tied {tied!r}"


AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}}
UNIGRAM = {"tokenizer.json": tiny.tokenizer() | {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}}


UNFIT = {"awq weights": AWQ, "an unsupported tokenizer": {"files": UNIGRAM}, "tensors of awq": {}}


def unfit(stage, name, what, size):
    """Writes a folder that cannot be loaded. size is its intermediate_size."""
    tensors = tiny.weights({"model_type": "llama"} | tiny.COMMON | {"intermediate_size": size}, fill=0.0)
    if what == "tensors of awq":
        shape, numbers = tensors.pop("model.layers.0.mlp.up_proj.weight")
        tensors |= {"model.layers.0.mlp.up_proj." + part: (shape, numbers) for part in ("qweight", "qzeros", "scales")}
    return tiny.folder(stage.folder, name + what.replace(" ", "-"), tensors=tensors, intermediate_size=size, **UNFIT[what])


for what in UNFIT:

    @expect("m6", "a folder that cannot be loaded is not added", f"models add, {what}", "models")
    def _(s, stage, what=what):
        return not_added(s, unfit(stage, "unfit-", what, 64))

    @expect("m6", "a model that cannot be loaded is refused before its weights are fetched", f"tandem pull, {what}", "models")
    def _(s, stage, what=what):
        files = tiny.contents(unfit(stage, "hub-", what, 200_000))
        hub, said = pulled(stage, files)
        most = len(files["model.safetensors"]) // 2
        want("ends with 0" not in said and hub.sent < most, f"{hub.sent} of {2 * most} bytes were sent; {said}")
        return f"{hub.sent} of {2 * most} bytes were sent; {said}"


@expect("m6", "the list of found models says why one cannot be used", "awq weights in the hub's cache, GET /app/found", "models")
def _(s, stage):
    repository = os.path.join(s.home, "hf", "hub", "models--org--unfit")
    tiny.put(repository, "refs/main", "b" * 40)
    tiny.folder(os.path.join(repository, "snapshots"), "b" * 40, **AWQ)
    found = [m for m in ok(s.control("GET", "/app/found")).json["models"] if m["id"] == "org/unfit"]
    want(found and "awq" in json.dumps(found), json.dumps(found))
    return json.dumps(found)


@expect("m7", "gemma3 is read by both spellings of its names", "model.language_model.*, vision names, lm_head", "models")
def _(s, stage):
    plain = own_head("gemma3_text")
    vision = {
        "vision_tower.vision_model.embeddings.patch_embedding.bias": ((4,), [0.0] * 4),
        "multi_modal_projector.mm_soft_emb_norm.weight": ((4,), [0.0] * 4),
    }
    text = {"model_type": "gemma3_text"} | tiny.COMMON | tiny.MORE["gemma3_text"] | {"tie_word_embeddings": False}
    config = {
        "model_type": "gemma3",
        "architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": text,
        "vision_config": {"hidden_size": 4},
        "tie_word_embeddings": False,
    }

    def renamed(body, head):
        return {head if n == "lm_head.weight" else n.replace("model.", body, 1): t for n, t in plain.items()}

    texts = []
    for name, tensors, files in (
        ("gemma-plain", plain, {}),
        ("gemma-new", renamed("model.language_model.", "lm_head.weight") | {"model." + n: t for n, t in vision.items()}, {"config.json": config}),
        ("gemma-old", renamed("language_model.model.", "language_model.lm_head.weight") | vision, {"config.json": config}),
    ):
        id = asked(s, stage, name, kind="gemma3_text", tensors=tensors, files=files, tie_word_embeddings=False)
        texts.append(ok(s.complete("The heron", model=id, max_tokens=12)).json["choices"][0]["text"])
    want(len(set(texts)) == 1, f"{texts}")
    return repr(texts[0])


LONG = {
    "kind": "qwen3",
    "max_position_embeddings": 320,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256},
}


@expect("m8", "the context is the larger of what the config says", "qwen3, 320 positions, yarn 4 x 256, 600 tokens", "models")
def _(s, stage):
    return f"{ok(s.complete('x' * 600, model=asked(s, stage, 'long', **LONG))).status}"


@expect("m8", "a context that cannot be had is said", "tandem serve --context 1200, of a model that has 1024", "models")
def _(s, stage):
    try:
        own = stage.serve("--model", tiny.folder(stage.folder, "longer", **LONG), "--context", "1200")
    except OSError as e:
        want("1200" in str(e), f"{e}")
        return f"{e}"
    own.complete("x")
    own.stop()
    want("1200" in own.said(), own.said())
    return own.said()


@expect("m9", "a config is read as Python writes it", "config.json with Infinity, -Infinity and NaN", "models")
def _(s, stage):
    name = asked(s, stage, "infinite", time_step_limit=[0.0, float("inf")], other=float("-inf"), more={"x": float("nan")})
    return f"{ok(s.complete('x', model=name)).status}"


@expect("m10", "longrope is refused by its name", "rope_scaling of type longrope without factor", "models")
def _(s, stage):
    path = tiny.folder(stage.folder, "longrope", rope_scaling={"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [1.0] * 8})
    return not_added(s, path, "longrope", "not supported")


# Tokens

# The post-processor of a model of embeddings: each text ends with one token.
ENDS = {
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [tiny.END], "tokens": ["<|end|>"]}},
    }
}
BOS = {
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<|bos|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|bos|>": {"id": "<|bos|>", "ids": [tiny.BOS], "tokens": ["<|bos|>"]}},
    }
}


@expect("m11", "a text that begins with BOS has it once", 'POST /v1/completions "<|bos|>ab"', "models")
def _(s, stage):
    name = asked(
        s, stage, "bos", files={"tokenizer.json": tiny.tokenizer() | BOS, "tokenizer_config.json": {"bos_token": "<|bos|>", "add_bos_token": True}}
    )
    counts = [ok(s.complete(text, model=name, max_tokens=1)).json["usage"]["prompt_tokens"] for text in ("ab", "<|bos|>ab")]
    want(counts == [3, 3], f"{counts} tokens without and with BOS in the text")
    return f"{counts} tokens without and with BOS in the text"


def zeros(kind="llama"):
    return tiny.weights({"model_type": kind} | tiny.COMMON | tiny.MORE[kind], fill=0.0)  # the likeliest token is 0


for what, ends, generation in (("config.json alone", [0], {"eos_token_id": 5}), ("generation_config.json alone", 5, {"eos_token_id": [0]})):

    @expect("m12", "an answer ends by the tokens of both configs", f"the token that comes is an end in {what}", "models")
    def _(s, stage, what=what, ends=ends, generation=generation):
        name = asked(s, stage, "ends-" + what[:4], tensors=zeros(), eos_token_id=ends, files={"generation_config.json": generation})
        choice = ok(s.complete("x", model=name)).json["choices"][0]
        want(choice["finish_reason"] == "stop", json.dumps(choice))
        return choice["finish_reason"]


@expect("m12", "an end that only text_config names is read", "gemma3 with eos_token_id in text_config", "models")
def _(s, stage):
    text = {"model_type": "gemma3_text"} | tiny.COMMON | tiny.MORE["gemma3_text"] | {"eos_token_id": 0}
    name = asked(
        s,
        stage,
        "ends-inside",
        kind="gemma3_text",
        tensors=zeros("gemma3_text"),
        files={"config.json": {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "text_config": text}},
    )
    choice = ok(s.complete("x", model=name)).json["choices"][0]
    want(choice["finish_reason"] == "stop", json.dumps(choice))
    return choice["finish_reason"]


@expect("m12", "do_sample false is greedy unless a request says otherwise", 'generation_config {"do_sample": false, "temperature": 0.9}', "models")
def _(s, stage):
    name = asked(s, stage, "greedy", tensors=zeros(), files={"generation_config.json": {"do_sample": False, "temperature": 0.9}})
    texts = [
        ok(s.post("/v1/completions", {"model": name, "prompt": "x", "max_tokens": 12, "seed": 1} | more)).json["choices"][0]["text"]
        for more in ({}, {"temperature": 1})
    ]
    want(texts[0] == "!" * 12 != texts[1], f"{texts}")
    return f"{texts}"


SPLITS = {
    "Punctuation, contiguous, and Digits after ByteLevel": (
        [{"type": "Punctuation", "behavior": "Contiguous"}, tiny.BYTES | {"use_regex": True}, {"type": "Digits", "individual_digits": True}],
        {"!!": 1, "12": 2},
    ),
    "Punctuation, isolated": ([{"type": "Punctuation", "behavior": "Isolated"}, tiny.BYTES], {"!!": 2, "12": 1}),
    "Split after ByteLevel": (
        [tiny.BYTES, {"type": "Split", "pattern": {"Regex": "[0-9]"}, "behavior": "Isolated", "invert": False}],
        {"!!": 1, "12": 2},
    ),
    "a set within a set": (
        [{"type": "Split", "pattern": {"Regex": " ?[^(\\s|[.,!?])]+"}, "behavior": "Isolated", "invert": False}, tiny.BYTES],
        {"12": 1},
    ),
    "unknown members": ([tiny.BYTES | {"zebra": True}], {"!!": 1, "12": 1}),
}
for i, (what, (stages, counts)) in enumerate(SPLITS.items()):

    @expect("m13", "texts are split as tokenizers does", f"pre_tokenizer: {what}", "models")
    def _(s, stage, i=i, stages=stages, counts=counts):
        name = asked(
            s,
            stage,
            f"split-{i}",
            files={"tokenizer.json": tiny.tokenizer(["! !", "1 2"], pre_tokenizer={"type": "Sequence", "pretokenizers": stages})},
        )
        got = {text: ok(s.complete(text, model=name, max_tokens=1)).json["usage"]["prompt_tokens"] for text in counts}
        want(got == counts, f"{got} tokens, want {counts}")
        return f"{got} tokens"


@expect("m14", "shards without an index are read", "model-00001-of-00002.safetensors and its sibling", "models")
def _(s, stage):
    tensors = tiny.weights({"model_type": "llama"} | tiny.COMMON)
    names = list(tensors)
    shards = {f"model-0000{i + 1}-of-00002.safetensors": tiny.safetensors({n: tensors[n] for n in names[i::2]}) for i in range(2)}
    texts = [
        ok(s.complete("The heron", model=asked(s, stage, name, tensors=tensors, files=files), max_tokens=12)).json["choices"][0]["text"]
        for name, files in (("whole", {}), ("shards", {"model.safetensors": None} | shards))
    ]
    want(texts[0] == texts[1], f"{texts}")
    return repr(texts[0])


@expect("m14", "choices of one seed share nothing with a neighbouring seed", "n 3 under seed 5, n 1 under seeds 6 and 7", "models")
def _(s, stage):
    def choices(n, seed):
        return [c["text"] for c in ok(s.complete("func ", n=n, seed=seed, temperature=1, max_tokens=24)).json["choices"]]

    three, again = choices(3, 5), choices(3, 5)
    want(three == again and three[1] != choices(1, 6)[0] and three[2] != choices(1, 7)[0] and three[0] == choices(1, 5)[0], f"{three}")
    return f"{three}"
