// The C interface of this folder's Rust crate.
//
// A text is UTF-8, passed as pointer and length, without an end mark. A function that fails returns
// one of the kinds below and leaves its message in a buffer. Any thread may call any function, and
// none of them unwinds. One call at a time uses a matcher.

#ifndef TANDEM_NATIVE_H
#define TANDEM_NATIVE_H

#include <stddef.h>
#include <stdint.h>

enum {
	TANDEM_OK = 0,
	TANDEM_SYNTAX = 1, // the template or the grammar does not compile
	TANDEM_RAISE = 2,  // raise_exception: the message is its text
	TANDEM_LIMIT = 3,  // output, time, instructions, depth
	TANDEM_RENDER = 4, // anything else: bad variables, operations on wrong types, an internal error
};

// Bytes that the library owns until tandem_buffer_free.
typedef struct {
	uint8_t *ptr;
	size_t len;
} tandem_buffer;

// Local time for strftime_now. month counts from 1, weekday from 0 = Sunday.
typedef struct {
	int32_t year, month, day, hour, minute, second, weekday;
} tandem_clock;

typedef struct tandem_template tandem_template;

// Compiles source. Sets *out, or *message and returns a kind.
int32_t tandem_template_new(const uint8_t *source, size_t len, tandem_template **out,
	tandem_buffer *message);

// Renders with the variables of one JSON object. Sets *out to the text, or to the message.
int32_t tandem_template_render(const tandem_template *t, const uint8_t *vars, size_t len,
	tandem_clock clock, tandem_buffer *out);

void tandem_template_free(tandem_template *t);

typedef struct tandem_vocabulary tandem_vocabulary;
typedef struct tandem_matcher tandem_matcher;

// Takes in the tokens of a model. Token i is the bytes of text from ends[i-1] to ends[i]. A special
// token begins with 0xFF. A token without bytes is never allowed. eos are the ids that end a text,
// at least one.
int32_t tandem_vocabulary_new(const uint8_t *text, size_t len, const uint32_t *ends, size_t n,
	const uint32_t *eos, size_t count, tandem_vocabulary **out, tandem_buffer *message);
void tandem_vocabulary_free(tandem_vocabulary *v); // its matchers may outlive it

// Compiles a grammar in llguidance's JSON form. Sets *out, or *message and returns a kind.
int32_t tandem_matcher_new(const tandem_vocabulary *v, const uint8_t *source, size_t len,
	tandem_matcher **out, tandem_buffer *message);

// Sets the bits of the tokens that may follow. Token i is bit i mod 32 of word i / 32. If nothing
// else may follow, these are the tokens that end a text. words is the number of tokens divided by
// 32, rounded up.
int32_t tandem_matcher_mask(tandem_matcher *m, uint32_t *bits, size_t words,
	tandem_buffer *message);

// Moves on by a token that the mask allows. Any other token breaks the matcher.
int32_t tandem_matcher_accept(tandem_matcher *m, uint32_t token, tandem_buffer *message);

// Takes the last n tokens back.
int32_t tandem_matcher_rollback(tandem_matcher *m, size_t n, tandem_buffer *message);

// Returns 1 if only the end may follow, or if the matcher is broken.
int32_t tandem_matcher_stopped(const tandem_matcher *m);
void tandem_matcher_free(tandem_matcher *m);

void tandem_buffer_free(tandem_buffer b);

// Objects and buffers handed out and not yet freed.
int64_t tandem_native_live(void);

#endif
