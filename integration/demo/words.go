package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// counts has the number of occurrences of each word.
type counts map[string]int

func (c counts) total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

// commonest returns the n words that occur most often, the commonest first.
func (c counts) commonest(n int) []string {
	words := make([]string, 0, len(c))
	for w := range c {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b)) })
	return words[:min(n, len(words))]
}

// add counts the words of a text: two letters or more, without digits or underscores beside them.
func (c counts) add(text []byte) {
	for i := 0; i < len(text); {
		start, letters := i, 0
		for i < len(text) && (letter(text[i]) || text[i] == '_' || '0' <= text[i] && text[i] <= '9') {
			if letter(text[i]) {
				letters++
			}
			i++
		}
		if letters >= 2 && letters == i-start {
			c[string(text[start:i])]++
		}
		i = max(i, start+1)
	}
}

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// compare counts the words of the input in this process, and returns the first difference from the job's counts.
func compare(input string, got counts) error {
	want, err := count(input)
	if err != nil {
		return err
	}
	for w, n := range want {
		if got[w] != n {
			return fmt.Errorf("the job counted %q %d times, but it occurs %d times", w, got[w], n)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("the job counted %d different words, but there are %d", len(got), len(want))
	}
	return nil
}

// count counts the words of all files below a folder.
func count(dir string) (counts, error) {
	paths := make(chan string)
	var mu sync.Mutex
	var failed error
	all := counts{}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			own := counts{}
			for p := range paths {
				text, err := os.ReadFile(p)
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
				own.add(text)
			}
			mu.Lock()
			defer mu.Unlock()
			for w, n := range own {
				all[w] += n
			}
		})
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			paths <- path
		}
		return err
	})
	close(paths)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	return all, failed
}
