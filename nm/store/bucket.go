package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// Bucket is a named set of keys and values. Store.Bucket returns one; the zero value can't be used.
type Bucket struct {
	s    *Store
	name []byte
}

// Bucket returns the bucket with that name, which need not exist yet.
func (s *Store) Bucket(name string) Bucket { return Bucket{s: s, name: []byte(name)} }

func (b Bucket) wrap(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s/%s in the state of the NodeManager (%s): %w", doing, b.name, key, b.s.dir, err)
}

// Put sets a key.
func (b Bucket) Put(key string, value []byte) error { return <-b.Begin(key, value) }

// Begin sets a key without waiting for the disk. It returns at once; the channel gets the outcome.
func (b Bucket) Begin(key string, value []byte) <-chan error {
	return b.s.begin(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(b.name)
		if err != nil {
			return err
		}
		return bucket.Put([]byte(key), value)
	}, func(err error) error { return b.wrap("write", key, err) })
}

// BeginAll is Begin for several keys. All of them are set, or none.
func (b Bucket) BeginAll(values map[string][]byte) <-chan error {
	return b.s.begin(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(b.name)
		if err != nil {
			return err
		}
		for key, value := range values {
			if err := bucket.Put([]byte(key), value); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) error {
		return b.wrap("write", strings.Join(slices.Sorted(maps.Keys(values)), ", "), err)
	})
}

// PutJSON sets a key to the JSON form of value.
func (b Bucket) PutJSON(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return b.wrap("write", key, err)
	}
	return b.Put(key, text)
}

// Delete removes a key. It returns nil if the key doesn't exist.
func (b Bucket) Delete(key string) error { return <-b.BeginDelete(key) }

// BeginDelete removes a key without waiting for the disk. The channel gets the outcome.
func (b Bucket) BeginDelete(key string) <-chan error {
	return b.s.begin(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(b.name)
		if bucket == nil {
			return nil
		}
		return bucket.Delete([]byte(key))
	}, func(err error) error { return b.wrap("remove", key, err) })
}

// Get returns a copy of a key's value, or nil if the key doesn't exist.
func (b Bucket) Get(key string) (value []byte, err error) {
	err = b.s.db.View(func(tx *bolt.Tx) error {
		if bucket := tx.Bucket(b.name); bucket != nil {
			if v := bucket.Get([]byte(key)); v != nil {
				value = append([]byte{}, v...)
			}
		}
		return nil
	})
	return value, b.wrap("read", key, err)
}

// GetJSON decodes a key's value. found is false if the key doesn't exist.
func (b Bucket) GetJSON(key string, value any) (found bool, err error) {
	text, err := b.Get(key)
	if err != nil || text == nil {
		return false, err
	}
	return true, b.wrap("read", key, json.Unmarshal(text, value))
}

// ForEach calls f for every key with the prefix, in order, until f fails. f gets copies, and may write to the store.
func (b Bucket) ForEach(prefix string, f func(key string, value []byte) error) error {
	type pair struct {
		key   string
		value []byte
	}
	var all []pair
	err := b.s.db.View(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(b.name)
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
			all = append(all, pair{string(k), bytes.Clone(v)})
		}
		return nil
	})
	if err != nil {
		return b.wrap("read", prefix, err)
	}
	for _, p := range all {
		if err := f(p.key, p.value); err != nil {
			return b.wrap("read", p.key, err)
		}
	}
	return nil
}
