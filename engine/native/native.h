// The interface of this folder's Rust crate: a process that answers at a socket.
//
// The process is a copy of the program that links the crate, started by the name below and with a
// socket as descriptor 3. It runs the crate and nothing else, and ends when the socket closes.
//
// A request is a tandem_head and len bytes. An answer is one byte, four bytes with the length of
// what follows, and that: the result if the byte is 0, else a message, and the byte is a kind of
// failure. Numbers have this machine's byte order. The client sends the next request after the
// answer.
//
//     what  request                                              result
//     f     none; the head carries a socket                      none: a copy answers there
//     t     a template                                           empty
//     r     seven int32 of the clock, variables as JSON          the text
//     v     uint32: tokens, end tokens, where each token's       empty
//           bytes end, the end tokens; then the tokens' bytes
//     g     grammars in llguidance's JSON form                   a byte: 1 if only the end may follow
//     w     uint32: the first row, then drafts                   a bit for each token, by rows
//     a     uint32: a token that the mask allows                 as for g
//     b     uint32: tokens to take back                          as for g
//
// A walk returns a row for what may follow the text and each of the drafts, from the first row on.
// After a draft that is not allowed, or that ends the text, every token is. The clock is year, month
// from 1, day, hour, minute, second, weekday from 0 = Sunday. A special token's bytes begin with
// 0xFF. A token without bytes is never allowed. Token i of a mask is bit i mod 32 of uint32 i / 32.
// If nothing else may follow, the mask has the tokens that end a text.

#ifndef TANDEM_NATIVE_H
#define TANDEM_NATIVE_H

#include <stdint.h>

// The first argument of the process. The digit counts versions of this interface: the program may
// have been replaced on disk since it was started. It ends when it is asked for another version.
#define TANDEM_NATIVE_FAMILY "tandem-native-"
#define TANDEM_NATIVE_NAME TANDEM_NATIVE_FAMILY "1"

enum {
	TANDEM_SYNTAX = 1, // the template or the grammar does not compile
	TANDEM_RAISE = 2,  // raise_exception: the message is its text
	TANDEM_LIMIT = 3,  // output, instructions, depth
	TANDEM_RENDER = 4, // anything else: bad variables, operations on wrong types, an internal error
	TANDEM_TIME = 5,   // the call has used up its time; the process has ended
	TANDEM_MEMORY = 6, // the call has used up its memory; the process has ended
};

typedef struct {
	uint8_t what;
	uint8_t low; // 1 for the lowest priority
	uint8_t unused[2];
	uint32_t len;
	uint32_t time;   // of the processor, in milliseconds
	uint32_t memory; // KiB that the process may have more than when it was copied
} tandem_head;

void tandem_native_serve(int socket);

#endif
