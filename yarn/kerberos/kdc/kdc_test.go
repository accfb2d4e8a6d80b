package kdc

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/krb5conf"
)

var alice = types.PrincipalName{NameType: 1, NameString: []string{"alice"}}

// The KDC is found behind one that is away, by TCP and by UDP, and refuses strangers in its own words.
func TestAKDC(t *testing.T) {
	t.Parallel()
	k := kerberostest.StartKDC(t, time.Hour)
	keys, err := kerberos.OpenKeytab(k.Keytab("alice.keytab", "alice@"+k.Realm))
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 10, 4000} {
		loaded, err := krb5conf.Load(k.Conf)
		if err != nil {
			t.Fatal(err)
		}
		c := loaded.Config
		c.LibDefaults.UDPPreferenceLimit = limit
		c.Realms[0].KDC = append(c.Realms[0].KDC, "127.0.0.1:1")
		for range 4 { // they come in any order
			rep, err := Login(c, keys.Keys(), alice, k.Realm)
			if err != nil {
				t.Fatalf("limit %d: %v", limit, err)
			}
			g := Grant{rep.Ticket, rep.DecryptedEncPart.Key}
			if _, err := Ticket(c, g, alice, k.Realm, types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", k.Realm}}, k.Realm); err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
			_, err = Ticket(c, g, alice, k.Realm, types.PrincipalName{NameType: 2, NameString: []string{"rm", "nowhere"}}, k.Realm)
			if err == nil || !strings.Contains(err.Error(), "KDC_ERR_S_PRINCIPAL_UNKNOWN") || errors.Is(err, ErrAway) {
				t.Errorf("limit %d, a service that isn't there: %v", limit, err)
			}
		}
		_, err = Login(c, keys.Keys(), types.PrincipalName{NameType: 1, NameString: []string{"mallory"}}, k.Realm)
		if err == nil || !strings.Contains(err.Error(), "KDC_ERR_C_PRINCIPAL_UNKNOWN") {
			t.Errorf("limit %d, a stranger: %v", limit, err)
		}
	}
}

// hostile returns a configuration whose KDC does as serve says.
func hostile(t *testing.T, serve func(net.Conn)) *config.Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	c := config.New()
	c.LibDefaults.UDPPreferenceLimit = 1
	c.Realms = []config.Realm{{Realm: "A.TEST", KDC: []string{l.Addr().String()}}}
	return c
}

// A KDC, or who answers in its place, can't have a daemon hold much, nor end it.
func TestHostileKDCs(t *testing.T) {
	keys, err := kerberos.OpenKeytab(keysOf(t))
	if err != nil {
		t.Fatal(err)
	}
	answer := func(length uint32, text string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, length), text...))
		}
	}
	for name, x := range map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"4 GB": {func(c net.Conn) {
			answer(1<<32-1, "")(c)
			_, _ = io.Copy(c, endless{})
		}, "an answer of 4294967295 bytes"},
		"cut":        {answer(1000, "x"), "unexpected EOF"},
		"nothing":    {func(net.Conn) {}, "no KDC answers of the realm A.TEST"},
		"empty":      {answer(0, ""), ""},
		"nonsense":   {answer(8, "nonsense"), ""},
		"an error":   {answer(4, "\x7e\x02\x30\x00"), ""},
		"a ticket":   {answer(4, "\x6b\x02\x30\x00"), ""},
		"half a tag": {answer(2, "\x6b\x84"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := hostile(t, x.serve)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Login(c, keys.Keys(), alice, "A.TEST")
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v", err)
			}
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 8<<20 {
				t.Errorf("it took %d MB", (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func keysOf(t testing.TB) string {
	path := t.TempDir() + "/keytab"
	kerberostest.Write(t, path, []kerberostest.Entry{{Principal: "alice@A.TEST", Version: 1, Cipher: 18, Key: make([]byte, 32)}})
	return path
}

// What KDCs say comes from the network, before anything is known about who says it.
func FuzzAnswer(f *testing.F) {
	keys, err := kerberos.OpenKeytab(keysOf(f))
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range []string{"", "\x7e\x02\x30\x00", "\x6b\x02\x30\x00", "\x6d\x02\x30\x00", "\x30\x84\xff\xff\xff\xff", "\x30\x0d\x30\x0b\xa1\x03\x02\x01\x13\xa2\x04\x04\x02\x30\x00"} {
		f.Add([]byte(b))
	}
	c := config.New()
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = refusal(b)
		_, _ = readAS(c, b, messages.ASReq{}, credentials.NewFromPrincipalName(alice, "A.TEST").WithKeytab(keys.Keys()))
		_, _ = readTGS(c, b, messages.TGSReq{}, types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)})
		_, _ = proofOfKey(b, keys.Keys(), alice, "A.TEST")
	})
}
