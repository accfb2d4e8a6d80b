// Package nmtest has what tests of several parts of a NodeManager share.
package nmtest

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Dirs are local directories that are always healthy.
type Dirs []string

// Writable returns all of them.
func (d Dirs) Writable() []string { return d }

// Readable returns all of them.
func (d Dirs) Readable() []string { return d }

// Store is a bucket of a NodeManager's state, in memory. The zero Store is empty and ready for use.
type Store struct {
	mu sync.Mutex
	m  map[string][]byte
}

// Put sets a key.
func (s *Store) Put(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	s.m[key] = slices.Clone(value)
	return nil
}

// Delete removes a key.
func (s *Store) Delete(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, key)
	return nil
}

// ForEach calls fn for each key with a prefix, until fn fails. fn may write to the store.
func (s *Store) ForEach(prefix string, fn func(string, []byte) error) error {
	for k, v := range s.All() {
		if strings.HasPrefix(k, prefix) {
			if err := fn(k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Len returns the number of keys.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.m)
}

// All returns a copy of everything.
func (s *Store) All() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.m)
}
