package texts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tandem/storage/disk"
)

// The format of a file: magic, the record of its owner, and the records of its texts. A record is
// the length of its content and its CRC-32C, both as uint32 little-endian, and its content. That is
// JSON after its length as a varint; in a text's record the tokens follow, as varints.
const magic = "tandem texts 1\n"

// Limits of a file that is read.
const (
	recordHead = 8        // bytes before the content
	maxRecord  = 8 << 20  // bytes of a content; a full memory takes 5 of each token at most
	maxFile    = 32 << 20 // bytes; a file is rewritten long before
	maxInfo    = 16 << 10 // bytes of JSON
)

// What a file holds until it is rewritten with the newest texts. Short ones take more bytes.
const (
	rewriteTokens = MaxTokens + MaxTokens/4
	rewriteBytes  = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An Owner is whose texts a memory holds.
type Owner struct {
	Client    string `json:"client"`    // opaque; empty for all clients without a key
	Tokenizer string `json:"tokenizer"` // any key that differs between tokenizers
}

// An Origin is where a text comes from.
type Origin struct {
	Model   string    `json:"model,omitempty"`
	Client  string    `json:"client,omitempty"` // as the history has it
	Run     int64     `json:"run,omitempty"`    // its number there
	Started time.Time `json:"started"`
}

// A record is what a text added to a memory: its tokens from a position on.
type record struct {
	Origin
	From   int    `json:"from,omitempty"`   // tokens of the text that were known
	Hash   uint64 `json:"hash,omitempty"`   // of the known tokens
	Lead   int    `json:"lead,omitempty"`   // known tokens before the new ones here, the last ones
	Prompt int    `json:"prompt,omitempty"` // tokens of the text that were its prompt
	Count  int    `json:"count"`            // tokens here

	tokens []int32
	bytes  int // in the file
}

// added returns how many tokens are new.
func (r record) added() int { return r.Count - r.Lead }

// appendRecord appends a record with its head: info as JSON, then tokens.
func appendRecord(list []byte, info any, tokens []int32) ([]byte, error) {
	text, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	if len(text) > maxInfo {
		return nil, fmt.Errorf("a text's description has %d bytes; a record takes %d", len(text), maxInfo)
	}
	start := len(list)
	list = append(list, make([]byte, recordHead)...)
	list = binary.AppendUvarint(list, uint64(len(text)))
	list = append(list, text...)
	for _, t := range tokens {
		list = binary.AppendUvarint(list, uint64(uint32(t)))
	}
	content := list[start+recordHead:]
	if len(content) > maxRecord {
		return nil, fmt.Errorf("a text of %d bytes is longer than a record may be", len(content))
	}
	binary.LittleEndian.PutUint32(list[start:], uint32(len(content)))
	binary.LittleEndian.PutUint32(list[start+4:], crc32.Checksum(content, castagnoli))
	return list, nil
}

// nextRecord reads the record at the beginning of data: info, and what follows it in its content.
// The error says what is wrong with it.
func nextRecord(data []byte, info any) (tokens, rest []byte, err error) {
	if len(data) < recordHead {
		return nil, nil, errors.New("it ends in the middle of a record")
	}
	n := int64(binary.LittleEndian.Uint32(data))
	sum := binary.LittleEndian.Uint32(data[4:])
	data = data[recordHead:]
	switch {
	case n > maxRecord:
		return nil, nil, fmt.Errorf("a record claims %d bytes; it has %d at most", n, maxRecord)
	case n > int64(len(data)):
		return nil, nil, errors.New("it ends in the middle of a record")
	case crc32.Checksum(data[:n], castagnoli) != sum:
		return nil, nil, errors.New("the checksum of a record is wrong")
	}
	content, rest := data[:n], data[n:]
	size, width := binary.Uvarint(content)
	if width <= 0 || size > maxInfo || size > uint64(len(content)-width) {
		return nil, nil, errors.New("a record has no description")
	}
	content = content[width:]
	if err := json.Unmarshal(content[:size], info); err != nil {
		return nil, nil, fmt.Errorf("a record's description cannot be read: %w", err)
	}
	return content[size:], rest, nil
}

// readTokens reads the tokens of a record.
func (r *record) readTokens(data []byte) error {
	bad := errors.New("the tokens of a record cannot be read")
	if r.Lead < 0 || r.Lead > min(r.Count, r.From) || r.Count > min(MaxTokens, len(data)) ||
		r.Prompt < 0 {
		return bad
	}
	r.tokens = make([]int32, 0, r.Count)
	for range r.Count {
		t, width := binary.Uvarint(data)
		if width <= 0 || t > 1<<31-1 {
			return bad
		}
		r.tokens = append(r.tokens, int32(t))
		data = data[width:]
	}
	if len(data) > 0 {
		return bad
	}
	return nil
}

// parse reads a file's content. The records before the first damaged one are good; the error says
// why there are no more. Without withTokens the tokens are skipped, which is quick.
func parse(data []byte, withTokens bool) (owner Owner, list []record, err error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return owner, nil, errors.New("it is no file of texts")
	}
	_, data, err = nextRecord(data[len(magic):], &owner)
	for err == nil && len(data) > 0 {
		var r record
		var tokens []byte
		before := len(data)
		if tokens, data, err = nextRecord(data, &r); err != nil {
			break
		}
		r.bytes = before - len(data)
		if withTokens {
			if err = r.readTokens(tokens); err != nil {
				break
			}
		}
		list = append(list, r)
	}
	return owner, list, err
}

// A content is what a file of texts holds.
type content struct {
	owner  Owner
	list   []record // before the first damaged one
	bytes  int64
	damage error // what is wrong with the file, or nil
}

// readFile reads a file of texts. An error says that it could not be read, which says nothing about
// its content.
func readFile(path string, withTokens bool) (c content, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return c, err
	}
	if c.bytes = int64(len(data)); c.bytes > maxFile {
		c.damage = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
		return c, nil
	}
	c.owner, c.list, c.damage = parse(data, withTokens)
	return c, nil
}

// writeFile writes a file of texts completely or not at all, for its owner only.
func writeFile(path string, owner Owner, list []record) error {
	data, err := appendRecord([]byte(magic), owner, nil)
	for _, r := range list {
		if err == nil {
			data, err = appendRecord(data, r, r.tokens)
		}
	}
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "*"+partSuffix) // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once the file has its final name
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// appendFile appends a record to a file of texts, which it makes if it is missing, and returns the
// file's size. It leaves the file as it was if that fails.
func appendFile(path string, owner Owner, r record) (bytes int64, err error) {
	data, err := appendRecord(nil, r, r.tokens)
	if err != nil {
		return 0, err
	}
	f, err := disk.OpenToWrite(path, os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		var head []byte
		head, err = appendRecord([]byte(magic), owner, nil)
		data = append(head, data...)
	}
	if err == nil {
		if _, err = f.Write(data); err == nil {
			err = f.Sync()
		}
		if err != nil {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
		bytes = info.Size() + int64(len(data))
	}
	return bytes, errors.Join(err, f.Close())
}
