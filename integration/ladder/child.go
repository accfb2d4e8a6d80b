package ladder

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
)

// Commands to a Child, a word a line. It answers each with the checksum of its memory, or "-".
const (
	fill = "fill" // writes all of its memory again
	look = "look" // reads all of it
	spin = "spin" // computes from now on, until it is told something else
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Child is a process that holds so many bytes of memory, which it first touches when it is told to fill them. random is the percentage of each page
// that can't be compressed. It ends with its input.
func Child(in io.Reader, out io.Writer, bytes, random int) error {
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
			fillWith(memory, rand.NewChaCha8([32]byte{seed}), random)
		}
		if _, err := fmt.Fprintf(out, "%x\n", crc32.Checksum(memory, table)); err != nil {
			return err
		}
	}
}

// fillWith fills memory page by page. The part of each page that isn't random is zero.
func fillWith(memory []byte, source *rand.ChaCha8, random int) {
	page := os.Getpagesize()
	for ; len(memory) > 0; memory = memory[min(page, len(memory)):] {
		this := memory[:min(page, len(memory))]
		source.Read(this[:len(this)*random/100])
		clear(this[len(this)*random/100:])
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
