"""Asks a running `tandem serve` to sort documents, with Cohere's package.

python cohere_client.py BASE_URL   (without /v2; the server serves a reranker)
"""

import asyncio
import sys

import cohere

from checks import check, run

BASE = sys.argv[1]
DOCUMENTS = ["A heron stands in the pond.", "Go has channels.", "The pond is deep.", "A lake."]


def sound(answer, count):
    scores = [r.relevance_score for r in answer.results]
    check(len(scores) == count and scores == sorted(scores, reverse=True) and all(0 <= s <= 1 for s in scores), f"{answer}")
    check(len({r.index for r in answer.results}) == count and all(0 <= r.index < len(DOCUMENTS) for r in answer.results), f"{answer}")
    check(answer.id, f"no id in {answer}")
    return [(r.index, r.relevance_score) for r in answer.results]


def rerank():
    client = cohere.ClientV2("unused", base_url=BASE)
    ask = {"model": "tandem", "query": "Where is the heron?", "documents": DOCUMENTS}
    everything = sound(client.rerank(**ask), 4)
    check(sound(client.rerank(**ask, top_n=2), 2) == everything[:2], "top_n gives others")
    cut = sound(client.rerank(**ask, max_tokens_per_doc=3), 4)
    check(dict(cut) != dict(everything), "max_tokens_per_doc cuts nothing")
    other = sound(client.rerank(**ask | {"query": "channels"}), 4)
    check(other != everything, "the query changes nothing")


async def rerank_async():
    async with cohere.AsyncClientV2("unused", base_url=BASE) as client:
        answers = await asyncio.gather(*[client.rerank(model="tandem", query="pond", documents=DOCUMENTS) for _ in range(8)])
    check(len({str(sound(a, 4)) for a in answers}) == 1, f"{answers}")


def errors():
    client = cohere.ClientV2("unused", base_url=BASE)
    for more, kind in (
        ({"model": "no-such-model"}, cohere.NotFoundError),
        ({"documents": []}, cohere.BadRequestError),
        ({"top_n": 0}, cohere.BadRequestError),
    ):
        try:
            client.rerank(**{"model": "tandem", "query": "pond", "documents": DOCUMENTS} | more)
        except kind as e:
            check(e.body["error"]["message"], f"{e.body}")
            continue
        check(False, f"accepted {more}")


run({"rerank": rerank, "rerank, async": rerank_async, "errors": errors})
