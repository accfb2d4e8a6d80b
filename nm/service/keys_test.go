package service

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// memory is a Bucket.
type memory map[string][]byte

func (m memory) Begin(key string, value []byte) <-chan error {
	m[key] = value
	return all()
}

func (m memory) GetJSON(key string, value any) (found bool, err error) {
	b, ok := m[key]
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(b, value)
}

func (m memory) BeginDelete(key string) <-chan error {
	delete(m, key)
	return all()
}

func (m memory) ForEach(prefix string, f func(key string, value []byte) error) error {
	for k, v := range m {
		if strings.HasPrefix(k, prefix) {
			if err := f(k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// A damaged record of one attempt's key ended the NodeManager at each start.
func TestADamagedKeyIsTheAttemptsLossAlone(t *testing.T) {
	node, store := records.NodeID{Host: "n1", Port: 4711}, memory{}
	for _, key := range []string{containerKeys, nodeKeys, attemptKeys + "appattempt_1_0001_000001", attemptKeys + "nonsense"} {
		store[key] = []byte("{")
	}
	store[attemptKeys+"appattempt_1_0001_000002"] = []byte(`{"id":1,"secret":"AQID"}`)
	keys, err := NewKeys(node, store, silent())
	if err != nil || len(keys.attempts) != 1 || len(store) != 3 {
		t.Errorf("%v, %v, %v", keys, store, err)
	}
}

// The ResourceManager may place containers on a node before the node has heard that it is registered: callers wait for the keys
// then, and no longer than is sensible.
func TestCallersWaitForKeysOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := records.NodeID{Host: "n1", Port: 4711}
		keys, err := NewKeys(node, memory{}, silent())
		if err != nil {
			t.Fatal(err)
		}
		key := token.NewMasterKey(7, []byte("12345678"))
		id := token.NM{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}, Node: node, Submitter: "alice", KeyID: 7}
		ask := func() (time.Duration, error) {
			began := time.Now()
			_, err := keys.Bearer(id.Encode())
			return time.Since(began), err
		}
		keys.Expect()
		go func() {
			time.Sleep(time.Second)
			if err := <-keys.SetKeys(key.PB(), key.PB()); err != nil {
				t.Error(err)
			}
		}()
		if waited, err := ask(); err != nil || waited != time.Second {
			t.Errorf("waited %v: %v", waited, err)
		}
		id.KeyID++
		if waited, err := ask(); !ipc.IsClass(err, ipc.InvalidToken) || waited != 0 {
			t.Errorf("a key that doesn't come: waited %v: %v", waited, err)
		}
		keys.Expect() // the node registers anew, with nobody who answers
		if waited, err := ask(); !ipc.IsClass(err, ipc.InvalidToken) || waited != keyPatience {
			t.Errorf("a registration that isn't answered: waited %v: %v", waited, err)
		}
		id.KeyID--
		if waited, err := ask(); err != nil || waited != 0 {
			t.Errorf("a key that is there: waited %v: %v", waited, err)
		}
		if _, err := keys.Bearer([]byte("\xff")); !errors.Is(err, ipc.ErrMalformedIdentifier) {
			t.Errorf("garbage: %v", err)
		}
	})
}

// A token is good under the key before the newest; and for as long as its application lives, if it has started a container by it.
func TestKeysRoll(t *testing.T) {
	node, store := records.NodeID{Host: "n1", Port: 4711}, memory{}
	keys, err := NewKeys(node, store, silent())
	if err != nil {
		t.Fatal(err)
	}
	roll := func(id int32) {
		t.Helper()
		if err := <-keys.SetNodeKey(token.NewMasterKey(id, []byte{byte(id), 2, 3}).PB()); err != nil {
			t.Fatal(err)
		}
	}
	of := func(app int32) token.NM {
		return token.NM{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: app}, Attempt: 1}, Node: node, KeyID: 1}
	}
	good := func(id token.NM) bool {
		b, err := keys.Bearer(id.Encode())
		return err == nil && string(b.Password) == string(token.NewMasterKey(1, []byte{1, 2, 3}).Sign(id.Encode()))
	}
	roll(1)
	if err := keys.Started(of(1)); err != nil {
		t.Fatal(err)
	}
	roll(2)
	if !good(of(1)) || !good(of(2)) {
		t.Error("the key before the newest is forgotten")
	}
	roll(3)
	if !good(of(1)) || good(of(2)) {
		t.Error("two keys on: the attempt that has started something must be let in, the other one not")
	}
	if keys, err = NewKeys(node, store, silent()); err != nil {
		t.Fatal(err)
	}
	keys.arrived = closed()
	if !good(of(1)) || good(of(2)) {
		t.Error("after a restart")
	}
	if err := <-keys.Finished(of(1).Attempt.App); err != nil {
		t.Fatal(err)
	}
	if good(of(1)) {
		t.Error("after the end of its application")
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
