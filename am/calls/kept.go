package calls

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// inMemory is how many bytes of a call's output are kept in memory. The rest goes into a file without a name.
const inMemory = 256 << 10

// kept holds what a call has written so far. It is passed on when the call has ended, since it doesn't count if the call runs again. The zero
// value is empty. One goroutine uses it at a time.
type kept struct {
	memory []byte // pieces: stream, length, bytes
	file   *os.File
	out    *bufio.Writer // to file
	err    error         // of the file; what came after it is lost
}

// pieceHead are the bytes of a piece before its own.
const pieceHead = 5

// add takes a piece of a stream.
func (k *kept) add(stream int, b []byte) {
	head := binary.BigEndian.AppendUint32([]byte{byte(stream)}, uint32(len(b)))
	if k.file == nil && len(k.memory)+pieceHead+len(b) <= inMemory {
		k.memory = append(append(k.memory, head...), b...)
		return
	}
	if k.err == nil && k.file == nil {
		k.open()
	}
	if k.err == nil {
		_, _ = k.out.Write(head) // its error is that of the next one
		_, k.err = k.out.Write(b)
	}
}

func (k *kept) open() {
	if k.file, k.err = os.CreateTemp("", "heddle-calls-"); k.err != nil {
		return
	}
	k.out = bufio.NewWriterSize(k.file, 64<<10)
	k.err = os.Remove(k.file.Name())
}

// forget empties it.
func (k *kept) forget() {
	if k.file != nil {
		_ = k.file.Close() // it isn't needed
	}
	*k = kept{}
}

// replay calls f with all pieces in their order, and empties it. The error says that output was lost.
func (k *kept) replay(f func(stream int, b []byte)) error {
	defer k.forget()
	for rest := k.memory; len(rest) > 0; {
		n := pieceHead + int(binary.BigEndian.Uint32(rest[1:]))
		f(int(rest[0]), rest[pieceHead:n])
		rest = rest[n:]
	}
	if k.file == nil {
		return k.err
	}
	err := errors.Join(k.err, k.out.Flush())
	if _, seek := k.file.Seek(0, io.SeekStart); seek != nil {
		return errors.Join(err, seek)
	}
	in := bufio.NewReaderSize(k.file, 64<<10)
	var buffer []byte
	for {
		var head [pieceHead]byte
		if _, broken := io.ReadFull(in, head[:]); broken != nil {
			if errors.Is(broken, io.EOF) {
				return err
			}
			return errors.Join(err, broken)
		}
		n := int(binary.BigEndian.Uint32(head[1:]))
		if cap(buffer) < n {
			buffer = make([]byte, n)
		}
		if _, broken := io.ReadFull(in, buffer[:n]); broken != nil {
			return errors.Join(err, fmt.Errorf("a piece of %d bytes breaks off: %w", n, broken))
		}
		f(int(head[0]), buffer[:n])
	}
}
