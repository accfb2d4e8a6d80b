package masterkey

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

const (
	life   = 24 * time.Hour
	expiry = 10 * time.Minute
)

type bench struct {
	*testing.T
	loop *looptest.Loop
	made int32
	err  error // of the next key that is made
}

func (b *bench) keys() *Keys {
	log := logrus.New()
	log.SetOutput(io.Discard)
	lifetimes := map[ledgerpb.KeyKind]time.Duration{}
	for _, kind := range kinds {
		if kind != ledgerpb.KeyKind_WEB && kind != ledgerpb.KeyKind_PROXY_CA {
			lifetimes[kind] = life
		}
	}
	return New(b.loop, b.loop.State, Config{Lifetime: lifetimes, NodeExpiry: expiry, Certificates: true, Log: logrus.NewEntry(log), New: b.newKey})
}

func (b *bench) newKey(ledgerpb.KeyKind) (int32, []byte, error) {
	b.made++
	return b.made, []byte(fmt.Sprint("secret ", b.made)), b.err
}

func (b *bench) roll(k *Keys) error {
	return b.loop.Do(func() error { return k.Roll(b.loop.Now()) })
}

func run(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, loop: looptest.New(t)}
		b.loop.State.Version = ledger.ProxyCAVersion
		test(b)
	})
}

func TestKeysAreShownWhenTheyAreCommitted(t *testing.T) {
	run(t, func(b *bench) {
		k := b.keys()
		if err := b.loop.Operate(func() error { return k.Roll(b.loop.Now()) }); err != nil {
			t.Fatal(err)
		}
		if k.Ring(ledgerpb.KeyKind_NM).Current.Secret != nil || k.NMTokenKey() != 0 {
			t.Error("a key is shown before it is committed")
		}
		b.loop.Commit()
		for _, kind := range kinds {
			if k.Ring(kind).Current.Secret == nil {
				t.Errorf("there is no key of kind %v", kind)
			}
		}
		if id := k.Ring(ledgerpb.KeyKind_NM).Current.ID; k.NMTokenKey() != id {
			t.Errorf("NMTokens are signed with key %d, and the current one is %d", k.NMTokenKey(), id)
		}
		made := b.made
		if err := b.roll(k); err != nil || b.made != made {
			t.Errorf("%d keys are made anew at once: %v", b.made-made, err)
		}
	})
}

// There is an authority for certificates where the settings ask for one, and no earlier than all members can have it.
func TestAuthorityWaitsForAllMembers(t *testing.T) {
	run(t, func(b *bench) {
		k := b.keys()
		k.Certificates = false
		for _, step := range []struct {
			asked   bool
			version int32
			made    bool
		}{{false, ledger.ProxyCAVersion, false}, {true, ledger.ProxyCAVersion - 1, false}, {true, ledger.ProxyCAVersion, true}} {
			k.Certificates, b.loop.State.Version = step.asked, step.version
			if err := b.roll(k); err != nil || (k.Ring(ledgerpb.KeyKind_PROXY_CA).Current.Secret != nil) != step.made {
				t.Errorf("%+v: %+v, %v", step, k.Ring(ledgerpb.KeyKind_PROXY_CA), err)
			}
		}
	})
}

// Nodes check container and NM tokens: they have a new key before it signs. Others sign at once.
func TestKeysOfNodesSignLater(t *testing.T) {
	run(t, func(b *bench) {
		k := b.keys()
		if err := b.roll(k); err != nil {
			t.Fatal(err)
		}
		old := map[ledgerpb.KeyKind]int32{}
		for _, kind := range kinds {
			old[kind] = k.Ring(kind).Current.ID
		}
		time.Sleep(life + time.Second)
		if err := b.roll(k); err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds {
			ring := k.Ring(kind)
			spread := kind == ledgerpb.KeyKind_NM || kind == ledgerpb.KeyKind_CONTAINER
			never := kind == ledgerpb.KeyKind_WEB || kind == ledgerpb.KeyKind_PROXY_CA
			if (ring.Next.Secret != nil) != spread || (ring.Current.ID == old[kind]) != (spread || never) {
				t.Errorf("kind %v after its lifetime: current key %d, was %d; next key %d", kind, ring.Current.ID, old[kind], ring.Next.ID)
			}
		}
		time.Sleep(expiry * 3 / 2)
		_ = b.roll(k)
		if k.Ring(ledgerpb.KeyKind_NM).Next.Secret == nil {
			t.Error("a key signs before each node that isn't lost has it")
		}
		time.Sleep(time.Second)
		_ = b.roll(k)
		ring := k.Ring(ledgerpb.KeyKind_NM)
		if ring.Next.Secret != nil || ring.Previous.ID != old[ledgerpb.KeyKind_NM] || k.NMTokenKey() != ring.Current.ID || ring.Current.ID == ring.Previous.ID {
			t.Errorf("after that: %+v, and NMTokens are signed with %d", ring, k.NMTokenKey())
		}
	})
}

// A leader can't tell when another one has handed a key to the nodes: it counts from its own beginning.
func TestTheNextLeaderWaitsAnew(t *testing.T) {
	run(t, func(b *bench) {
		k := b.keys()
		_ = b.roll(k)
		time.Sleep(life + time.Second)
		_ = b.roll(k)
		time.Sleep(expiry * 2) // nobody leads
		k = b.keys()
		_ = b.loop.Do(func() error { k.Publish(); return k.Roll(b.loop.Now()) })
		if ring := k.Ring(ledgerpb.KeyKind_NM); ring.Current.Secret == nil || ring.Next.Secret == nil {
			t.Fatalf("the next leader begins with %+v", ring)
		}
		time.Sleep(expiry*3/2 + time.Second)
		_ = b.roll(k)
		if k.Ring(ledgerpb.KeyKind_NM).Next.Secret != nil {
			t.Error("the key still doesn't sign")
		}
	})
}

func TestAKeyThatCannotBeMadeIsTriedAgain(t *testing.T) {
	run(t, func(b *bench) {
		k := b.keys()
		b.err = errors.New("no entropy")
		if err := b.roll(k); !errors.Is(err, b.err) {
			t.Errorf("%v", err)
		}
		b.err = nil
		if err := b.roll(k); err != nil || k.Ring(ledgerpb.KeyKind_CLIENT_TO_AM).Current.Secret == nil {
			t.Errorf("tried again: %v", err)
		}
	})
}
