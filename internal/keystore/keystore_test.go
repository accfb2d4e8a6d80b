package keystore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t *testing.T, name, password, keyPassword string) *Store {
	t.Helper()
	s, err := Parse(file(t, name), password, keyPassword)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// Keys that keytool has made come out of all its formats, and belong to their certificates.
func TestKeys(t *testing.T) {
	jks, p12 := open(t, "a.jks", "storepass", "keypass"), open(t, "b.p12", "storepass", "")
	for name, s := range map[string]*Store{"JKS": jks, "PKCS12": p12} {
		if len(s.Keys) != 1 || len(s.Keys[0].Chain) != 1 {
			t.Fatalf("%s: %+v", name, s)
		}
		private, ok := s.Keys[0].Private.(*rsa.PrivateKey)
		if !ok || !private.PublicKey.Equal(s.Keys[0].Chain[0].PublicKey) {
			t.Errorf("%s: the key %T isn't that of its certificate", name, s.Keys[0].Private)
		}
	}
	if !bytes.Equal(jks.Keys[0].Chain[0].Raw, p12.Keys[0].Chain[0].Raw) {
		t.Error("the certificates differ")
	}
	jceks := open(t, "d.jceks", "storepass", "keypass")
	if _, ok := jceks.Keys[0].Private.(*ecdsa.PrivateKey); !ok {
		t.Errorf("%+v", jceks)
	}
	if b := secret(t, jceks, "S"); len(b) != 32 {
		t.Errorf("the AES key has %d bytes", len(b))
	}
}

func TestTrustedCertificates(t *testing.T) {
	want := open(t, "a.jks", "storepass", "keypass").Keys[0].Chain[0].Raw
	for name, password := range map[string]string{"trust.jks": "trustpass", "trust.p12": "trustpass"} {
		s := open(t, name, password, "")
		if len(s.Trusted) != 1 || !bytes.Equal(s.Trusted[0].Raw, want) || len(s.Keys) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := open(t, "trust.jks", "", ""); len(s.Trusted) != 1 {
		t.Error("certificates of JKS need a password")
	}
	if s := open(t, "a.jks", "", ""); len(s.Keys) != 0 {
		t.Error("a key was read without a password")
	}
}

func secret(t *testing.T, s *Store, alias string) string {
	t.Helper()
	b, ok, err := s.Secret(alias)
	if !ok || err != nil {
		t.Fatalf("%s: %v", alias, err)
	}
	return string(b)
}

func TestPasswordsOfHadoop(t *testing.T) {
	if got := secret(t, open(t, "none.jceks", "none", ""), "ssl.server.keystore.password"); got != "storepass" {
		t.Errorf("%q", got)
	}
	s := open(t, "env.jceks", "pr0vider", "")
	if got := secret(t, s, "ssl.server.keystore.password"); got != "störe pass€" {
		t.Errorf("%q", got)
	}
	if got := secret(t, s, "ssl.server.keystore.keyPassword"); got != "second" {
		t.Errorf("%q", got)
	}
	if _, ok, err := s.Secret("nothing"); ok || err != nil {
		t.Error(ok, err)
	}
	s.keyPassword = "wrong"
	if _, _, err := s.Secret("ssl.server.keystore.password"); !errors.Is(err, ErrPassword) {
		t.Error(err)
	}
}

func TestWrongPasswords(t *testing.T) {
	for _, x := range []struct{ name, password, key string }{
		{"a.jks", "wrong", ""},
		{"a.jks", "storepass", ""},
		{"a.jks", "storepass", "wrong"},
		{"b.p12", "wrong", ""},
		{"trust.p12", "wrong", ""},
		{"b.p12", "", ""},
		{"d.jceks", "storepass", "wrong"},
		{"env.jceks", "none", ""},
		{"trust.jks", "wrong", ""},
	} {
		if s, err := Parse(file(t, x.name), x.password, x.key); !errors.Is(err, ErrPassword) {
			t.Errorf("%+v: %+v, %v", x, s, err)
		}
	}
}

// A file cut off or changed anywhere is refused: its digest covers all of it.
func TestDamage(t *testing.T) {
	for _, name := range []string{"a.jks", "d.jceks", "none.jceks"} {
		password := map[string]string{"none.jceks": "none"}[name]
		if password == "" {
			password = "storepass"
		}
		whole := file(t, name)
		for i := range whole {
			if _, err := Parse(whole[:i], password, "keypass"); err == nil {
				t.Fatalf("%s: %d bytes of %d are taken", name, i, len(whole))
			}
			changed := bytes.Clone(whole)
			changed[i] ^= 1
			if _, err := Parse(changed, password, "keypass"); err == nil {
				t.Fatalf("%s: byte %d may change", name, i)
			}
		}
	}
	for name, text := range map[string]string{"PEM": "-----BEGIN CERTIFICATE-----", "nothing": "", "text": "password"} {
		if _, err := Parse([]byte(text), "x", ""); err == nil {
			t.Errorf("%s is a keystore", name)
		}
	}
}

// FuzzJava feeds what Java's formats have inside, past the digest.
func FuzzJava(f *testing.F) {
	for _, name := range []string{"a.jks", "d.jceks", "none.jceks", "env.jceks", "trust.jks"} {
		f.Add(file(f, name)[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, magic := range []string{"\xfe\xed\xfe\xed", "\xce\xce\xce\xce"} {
			s, err := Parse(append([]byte(magic), b...), "", "none")
			if (s == nil) == (err == nil) {
				t.Fatalf("%v, %v", s, err)
			}
		}
	})
}

// FuzzObject feeds serialized objects.
func FuzzObject(f *testing.F) {
	b := file(f, "none.jceks")
	f.Add(b[bytes.Index(b, []byte{0xac, 0xed}) : len(b)-digestSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := parseObject(b); (o == nil) == (err == nil) {
			t.Fatal(o, err)
		}
	})
}

// FuzzPKCS12 feeds what isn't even checked against a password.
func FuzzPKCS12(f *testing.F) {
	f.Add([]byte("\x30\x03\x02\x01\x03"), "storepass")
	f.Fuzz(func(t *testing.T, b []byte, password string) {
		if len(b) > 64 {
			b = b[:64] // longer ones may ask for any number of iterations
		}
		if s, err := parsePKCS12(b, password); err == nil {
			t.Fatalf("%+v", s)
		}
	})
}
