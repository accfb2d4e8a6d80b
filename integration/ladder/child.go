package ladder

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
)

// What a Child is told, a word a line. It answers each with the checksum of its memory, or "-".
const (
	fill = "fill" // writes all of its memory anew
	look = "look" // reads all of it
	spin = "spin" // computes from now on, until it is told something else
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Child is a process that holds so many bytes of memory, which it first touches when it is told to fill them. It ends with its input.
func Child(in io.Reader, out io.Writer, bytes int) error {
	memory := make([]byte, bytes)
	words := make(chan string)
	go func() {
		defer close(words)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			words <- lines.Text()
		}
	}()
	for seed := byte(1); ; seed++ {
		word, ok := <-words
		for ok && word == spin {
			if _, err := fmt.Fprintln(out, "-"); err != nil {
				return err
			}
			word, ok = compute(words)
		}
		if !ok {
			return nil
		}
		if word == fill {
			rand.NewChaCha8([32]byte{seed}).Read(memory)
		}
		if _, err := fmt.Fprintf(out, "%x\n", crc32.Checksum(memory, table)); err != nil {
			return err
		}
	}
}

// compute uses a core until there is another word.
func compute(words <-chan string) (word string, ok bool) {
	for n := uint64(0); ; n++ {
		if n%(1<<16) != 0 {
			continue
		}
		select {
		case word, ok = <-words:
			return word, ok
		default:
		}
	}
}
