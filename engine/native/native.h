// The C interface of this folder's Rust crate.
//
// Texts are UTF-8, pointer and length, not terminated. A function that fails returns one of
// the kinds below and leaves its message in a buffer. Every function may be called from any
// thread; none of them unwinds.

#ifndef TANDEM_NATIVE_H
#define TANDEM_NATIVE_H

#include <stddef.h>
#include <stdint.h>

enum {
	TANDEM_OK = 0,
	TANDEM_SYNTAX = 1, // the template does not compile
	TANDEM_RAISE = 2,  // raise_exception: the message is its text
	TANDEM_LIMIT = 3,  // output, time, instructions, depth
	TANDEM_RENDER = 4, // anything else: bad variables, operations on wrong types, an internal error
};

// Bytes owned by the library until tandem_buffer_free.
typedef struct {
	uint8_t *ptr;
	size_t len;
} tandem_buffer;

// Local time for strftime_now. month counts from 1, weekday from 0 = Sunday, yearday from 1.
typedef struct {
	int32_t year, month, day, hour, minute, second, microsecond, weekday, yearday;
} tandem_clock;

typedef struct tandem_template tandem_template;

// Compiles source. Sets *out, or *message and returns a kind.
int32_t tandem_template_new(const uint8_t *source, size_t len, tandem_template **out, tandem_buffer *message);

// Renders with the variables of one JSON object. Sets *out to the text, or to the message.
int32_t tandem_template_render(const tandem_template *t, const uint8_t *vars, size_t len, tandem_clock clock, tandem_buffer *out);

void tandem_template_free(tandem_template *t);
void tandem_buffer_free(tandem_buffer b);

// Templates and buffers handed out and not yet freed.
int64_t tandem_native_live(void);

#endif
