"""Draws prompts for the starter from the texts of a machine: what editors and people ask.

A prompt has a kind:

    code      a piece of a source file to go on with, as an editor asks
    coding    a question or a task about a function, in a chat
    editing   a function to write again with one change, in a chat
    prose     a question or a task about a piece of documentation, in a chat
    writing   a piece of documentation to go on with
"""

import re

from texts import functions, paragraphs

SHARES = {"code": 0.17, "coding": 0.31, "editing": 0.06, "prose": 0.36, "writing": 0.1}
SHORTEST, LONGEST = 16, 352  # tokens of a prompt
DEFAULT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # of the template
SYSTEMS = [
    DEFAULT,
    "You are a helpful assistant.",
    "You are an expert programmer. Answer briefly.",
    "You are a coding assistant inside an editor.",
    "Answer in plain English.",
]
DEFAULT_SHARE = 0.75
TASKS_SHARE = 0.35  # of the coding prompts

CODING = [
    "Explain what this {language} code does.\n\n{fence}",
    "What does this do?\n\n{fence}",
    "Explain this code step by step:\n\n{fence}",
    "Write a docstring for this function.\n\n{fence}",
    "Write a comment for this {language} function:\n\n{fence}",
    "Write a unit test for this {language} code.\n\n{fence}",
    "Is there a bug in this code?\n\n{fence}",
    "Suggest improvements to this code.\n\n{fence}",
    "Add error handling to this function:\n\n{fence}",
    "Add comments to this code:\n\n{fence}",
    "Simplify this {language} code:\n\n{fence}",
    "Complete this {language} code:\n\n{half}",
    "Continue this code.\n\n{half}",
    "Finish this function:\n\n{half}",
    "Write a {language} function named {name}.",
    "Write a {language} function like this one, named {name}2:\n\n{fence}",
    "Write a {language} program that uses {name}.",
    "How do I use {name} in {language}? Give an example.",
    "Translate this code to Python:\n\n{fence}",
    "Translate this code to Go:\n\n{fence}",
    "Here is a function:\n\n{fence}\n\nWrite a shorter version of it.",
    "List the variables of this code and say what each is for.\n\n{fence}",
]
EDITING = [
    "Rename {name} to {other} in this code and give me the whole code:\n\n{fence}",
    "Write this code again with {name} renamed to {other}.\n\n{fence}",
    "Repeat this code exactly:\n\n{fence}",
    "Copy the following code and add a comment above its first line:\n\n{fence}",
    "Replace {name} with {other}. Answer with the code only.\n\n{fence}",
]
PROSE = [
    "Summarize this text:\n\n{text}",
    "Summarize the following in one sentence.\n\n{text}",
    "Explain this in simple words:\n\n{text}",
    "What is this text about?\n\n{text}",
    "List the main points of this text.\n\n{text}",
    "Rewrite this text so that a beginner understands it:\n\n{text}",
    "Rewrite this more briefly:\n\n{text}",
    "Correct the grammar of this text:\n\n{text}",
    "Write three questions about this text, with answers.\n\n{text}",
    "Give this text a title and say why it fits.\n\n{text}",
    "Continue this text:\n\n{text}",
    "Write an introduction to this:\n\n{text}",
    "Turn this into a list of steps:\n\n{text}",
    "Write an email to a colleague that explains this:\n\n{text}",
    "Read this and answer: why does it matter?\n\n{text}",
    "What is {topic}?",
    "Explain {topic} to me.",
    "Write a short article about {topic}.",
    "Tell me three facts about {topic}.",
    "How does {topic} work?",
    "Give me tips about {topic}.",
    "Write a short story about {topic}.",
    "What are the advantages and disadvantages of {topic}?",
]

# Texts of a developer's machine are all about software. People ask about more.
TOPICS = """photosynthesis, the French Revolution, black holes, learning to play the guitar, a healthy breakfast,
democracy, the water cycle, climate change, the Roman Empire, how vaccines work, saving money, meditation, growing tomatoes, the
moon landing, supply and demand, a job interview, time management, the human heart, volcanoes, recycling, machine learning,
the internet, public speaking, chess, a trip to Japan, the Renaissance, evolution, gravity, a good night's sleep, coffee,
electric cars, Shakespeare, the Olympic Games, friendship, running a marathon, the Great Wall of China, dinosaurs, inflation,
solar panels, reading books, dogs, cats, whales, bees, the ocean, mountains, the desert, winter, music theory, painting,
photography, cooking pasta, baking bread, tea, yoga, writing a novel, poetry, learning a language, moving to a new city, a lost
key, a brave mouse, an old lighthouse, a robot that learns to cook, kindness, patience, teamwork, leadership, remote work, a
startup, marketing, taxes, mortgages, the stock market, insurance, databases, operating systems, compilers, sorting
algorithms, recursion, version control, cloud computing, computer networks, encryption, passwords, artificial intelligence,
probability, prime numbers, the Pythagorean theorem, calculus, statistics, atoms, the periodic table, DNA, cells, the brain, bones,
muscles, allergies, headaches, vitamins, sugar, the immune system, rainbows, thunder, earthquakes, glaciers, rivers, forests"""


# People ask for small programs more often than for answers about a file.
TASKING = [
    "Write a {language} function that {task}.",
    "Write a {language} program that {task}.",
    "How can I write {language} code that {task}?",
    "Show me how to write a function in {language} that {task}. Explain each step.",
    "Give me a {language} snippet that {task}",
    "Write a {language} class that {task}, and a test for it.",
]
LANGUAGES = ["Python", "Python", "Python", "Go", "JavaScript", "TypeScript", "Rust", "C", "C++", "Java", "Bash", "SQL"]
TASKS = """reverses a string, checks whether a number is prime, finds the largest number in a list, sorts a list of names, counts the
words of a text, reads a file line by line, writes a list to a CSV file, parses JSON, downloads a page, computes the factorial
of a number, prints the Fibonacci numbers, merges two sorted lists, removes duplicates from a list, checks whether a word is a
palindrome, converts Celsius to Fahrenheit, validates an email address, generates a random password, implements a stack,
implements a queue with two stacks, searches a sorted array, computes the average of numbers, transposes a matrix, multiplies two
matrices, counts vowels, finds the longest word of a sentence, rolls dice, plays tic-tac-toe, draws a triangle of stars, guesses
a number, keeps a list of tasks, stores contacts, connects to a database, inserts rows into a table, joins two tables, groups
sales by month, starts a web server, handles a POST request, retries a failed request, logs errors to a file, parses command
line arguments, walks a folder, renames many files, compresses a file, computes a hash, encrypts a message, sends an email,
formats a date, measures how long a function takes, caches results, limits the rate of calls, runs tasks in parallel, waits for
several threads, implements a linked list, inverts a binary tree, walks a graph breadth first, finds the shortest path, solves a
maze, counts islands in a grid, checks balanced brackets, evaluates an expression, tokenizes a sentence, splits text into
paragraphs, replaces words in a file, finds a pattern with a regular expression, converts numbers to Roman numerals, adds two
big numbers, computes a moving average, reads an image, resizes an image, plots a line, simulates a bank account, models a
library of books, represents a deck of cards, shuffles a list, draws a random sample, computes the greatest common divisor, converts
a number to binary, flips the bits of a number, checks whether two words are anagrams, rotates an array, finds missing numbers,
groups people by age, flattens a nested list, zips two lists, deep copies an object, debounces a function, fetches data and
shows it, builds a form, toggles a button, implements a trie, implements an LRU cache, parses a date, pads a string"""


def listed(text, part):
    """Returns the entries of a list for the training prompts (part 0) or for the held-out ones (part 1)."""
    every = [t.strip() for t in text.replace("\n", " ").split(",")]
    return [t for i, t in enumerate(every) if (i % 8 == 0) == bool(part)]


def chat(system, user):
    """Returns a chat of one question as the starter's template renders it."""
    return f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"


class Prompts:
    """Prompts from documents, {kind: [texts.Document]}. A prompt depends on the generator alone."""

    def __init__(self, documents, tokenizer, part):
        self.documents, self.tokenizer = documents, tokenizer
        self.topics, self.tasks = listed(TOPICS, part), listed(TASKS, part)

    def draw(self, rng, kind=None):
        """Returns (ids, kind) of a prompt of SHORTEST to LONGEST tokens."""
        while True:
            drawn = kind or rng.choice(list(SHARES), p=list(SHARES.values()))
            text = getattr(self, drawn)(rng)
            ids = self.tokenizer.encode(text).ids if text else []
            if drawn in ("code", "writing"):
                # An editor sends what stands before the cursor, wherever that is.
                length = int(rng.integers(SHORTEST, LONGEST + 1))
                ids = ids[:length]
            if SHORTEST <= len(ids) <= LONGEST:
                return ids, drawn

    def pick(self, rng, kind):
        documents = self.documents[kind]
        return documents[rng.integers(len(documents))]

    def code(self, rng):
        text = self.pick(rng, "code").text
        start = text.rfind("\n", 0, int(rng.integers(len(text)))) + 1
        return text[start : start + 4 * LONGEST]

    def writing(self, rng):
        text = self.pick(rng, "prose").text
        start = text.rfind("\n\n", 0, int(rng.integers(len(text)))) + 2
        return text[max(start, 0) : start + 4 * LONGEST]

    def function(self, rng):
        document = self.pick(rng, "code")
        found = functions(document)
        return (document.language, found[rng.integers(len(found))]) if found else (None, None)

    def coding(self, rng):
        if rng.random() < TASKS_SHARE:
            language, task = LANGUAGES[rng.integers(len(LANGUAGES))], self.tasks[rng.integers(len(self.tasks))]
            return self.chat(rng, TASKING).format(language=language, task=task)
        language, text = self.function(rng)
        names = re.findall(r"\b[A-Za-z_]\w{3,}\b", text or "")
        if not names:
            return ""
        lines = text.splitlines()
        half = "\n".join(lines[: max(2, len(lines) // 2)])
        mark = "```" + language.lower() + "\n"
        return self.chat(rng, CODING).format(
            language=language,
            fence=f"{mark}{text}\n```" if rng.random() < 0.7 else text,
            half=f"{mark}{half}\n```" if rng.random() < 0.5 else half,
            name=names[rng.integers(len(names))],
        )

    def editing(self, rng):
        _, text = self.function(rng)
        names = re.findall(r"\b[a-z_]\w{2,}\b", text or "")
        if len(names) < 2:
            return ""
        name, other = names[rng.integers(len(names))], names[rng.integers(len(names))]
        return self.chat(rng, EDITING).format(fence=f"```\n{text}\n```", name=name, other="new_" + other)

    def prose(self, rng):
        form = self.chat(rng, PROSE)
        if "{text}" in form:
            found = paragraphs(self.pick(rng, "prose"))
            return form.format(text=found[rng.integers(len(found))]) if found else ""
        if rng.random() < 0.5:
            return form.format(topic=self.topics[rng.integers(len(self.topics))])
        heads = re.findall(r"^(?:#+ +)?([A-Z][\w ]{3,40})$", self.pick(rng, "prose").text, re.M)
        return form.format(topic=heads[rng.integers(len(heads))]) if heads else ""

    def chat(self, rng, forms):
        """Returns a chat with a form, for its fields to be filled in."""
        system = SYSTEMS[0] if rng.random() < DEFAULT_SHARE else SYSTEMS[rng.integers(1, len(SYSTEMS))]
        return chat(system, forms[rng.integers(len(forms))])
