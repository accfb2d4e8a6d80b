package store

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Bucket is a named set of keys and values. The zero value is of no use; get one from Store.Bucket.
type Bucket struct {
	s    *Store
	name []byte
}

// Bucket returns the bucket of that name, which need not be there yet.
func (s *Store) Bucket(name string) Bucket { return Bucket{s: s, name: []byte(name)} }

func (b Bucket) wrap(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s/%s in the state of the NodeManager (%s): %w", doing, b.name, key, b.s.dir, err)
}

// Put sets a key.
func (b Bucket) Put(key string, value []byte) error {
	return b.wrap("write", key, b.s.update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(b.name)
		if err != nil {
			return err
		}
		return bucket.Put([]byte(key), value)
	}))
}

// PutJSON sets a key to the JSON form of value.
func (b Bucket) PutJSON(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return b.wrap("write", key, err)
	}
	return b.Put(key, text)
}

// Delete removes keys; those that are not there are no error.
func (b Bucket) Delete(keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return b.wrap("remove", keys[0], b.s.update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket(b.name)
		if bucket == nil {
			return nil
		}
		for _, key := range keys {
			if err := bucket.Delete([]byte(key)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Get returns a copy of a key's value, or nil if it is not there.
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

// GetJSON decodes a key's value; found is false when it is not there.
func (b Bucket) GetJSON(key string, value any) (found bool, err error) {
	text, err := b.Get(key)
	if err != nil || text == nil {
		return false, err
	}
	return true, b.wrap("read", key, json.Unmarshal(text, value))
}

// Each calls f for every key in order; f gets copies and may write to the store.
func (b Bucket) Each(f func(key string, value []byte) error) error {
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
		return bucket.ForEach(func(k, v []byte) error {
			all = append(all, pair{string(k), append([]byte{}, v...)})
			return nil
		})
	})
	if err != nil {
		return b.wrap("read", "", err)
	}
	for _, p := range all {
		if err := f(p.key, p.value); err != nil {
			return b.wrap("read", p.key, err)
		}
	}
	return nil
}
