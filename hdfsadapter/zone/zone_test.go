package zone

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func described(iv []byte) *pb.FileEncryptionInfo {
	return pb.FileEncryptionInfo_builder{
		Suite: pb.CipherSuite_CIPHER_SUITE_AES_CTR_NOPADDING.Enum(), CryptoProtocolVersion: pb.CryptoProtocolVersion_ENCRYPTION_ZONES.Enum(),
		Key: []byte("0123456789abcdef"), Iv: iv, KeyName: proto.String("zone"), EzKeyVersionName: proto.String("zone@0"),
	}.Build()
}

// The vectors of NIST SP 800-38A, F.5.1, from each position on; and a counter that carries into its upper half.
func TestCipher(t *testing.T) {
	c, err := NewCipher(described(unhex(t, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")), unhex(t, "2b7e151628aed2a6abf7158809cf4f3c"))
	if err != nil {
		t.Fatal(err)
	}
	plain := unhex(t, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	secret := unhex(t, "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee")
	for from := range secret {
		got := bytes.Clone(secret[from:])
		if c.XOR(got, int64(from)); !bytes.Equal(got, plain[from:]) {
			t.Errorf("from %d: %x, want %x", from, got, plain[from:])
		}
	}
	c.iv = [16]byte(unhex(t, "00000000000000ffffffffffffffffff"))
	if got := c.counter(2); !bytes.Equal(got, unhex(t, "00000000000001000000000000000001")) {
		t.Errorf("the counter is %x", got)
	}
	(*Cipher)(nil).XOR(plain, 0)
	if plain[0] != 0x6b {
		t.Error("bytes outside zones change")
	}
}

// What Heddle doesn't know is refused, and not read wrongly.
func TestUnknownEncryption(t *testing.T) {
	iv := make([]byte, 16)
	for want, change := range map[string]func(*pb.FileEncryptionInfo){
		"cipher suite 3": func(i *pb.FileEncryptionInfo) { i.SetSuite(pb.CipherSuite_CIPHER_SUITE_SM4_CTR_NOPADDING) },
		"version 1": func(i *pb.FileEncryptionInfo) {
			i.SetCryptoProtocolVersion(pb.CryptoProtocolVersion_UNKNOWN_PROTOCOL_VERSION)
		},
		"vector has 3 bytes":        func(i *pb.FileEncryptionInfo) { i.SetIv(iv[:3]) },
		"a key that is none of AES": func(*pb.FileEncryptionInfo) {},
	} {
		info := described(iv)
		change(info)
		if _, err := NewCipher(info, []byte("short")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	s, err := Parse("kms://https@kms1.example.com;kms2.example.com:9600/kms")
	if err != nil || fmt.Sprint(s.bases) != "[https://kms1.example.com:9600/kms/v1/ https://kms2.example.com:9600/kms/v1/]" {
		t.Errorf("%v, %v", s, err)
	}
	for service, want := range map[string]bool{
		"kms://https@kms1.example.com;kms2.example.com:9600/kms": true, "kms2.example.com:9600": true, "kms3.example.com:9600": false, "": false, "kms://http@elsewhere:9600/kms": false,
	} {
		if got := s.Issued(token.Token{Kind: token.KindKMS, Service: service}); got != want {
			t.Errorf("%q: %v", service, got)
		}
	}
	if s.Named(token.Token{Kind: token.KindHDFS, Service: s.uri}) {
		t.Error("a token of a NameNode is taken for one of the server")
	}
	local, err := Parse("kms://http@localhost:9600/kms")
	if at := (token.Token{Kind: token.KindKMS, Service: "127.0.0.1:9600"}); err != nil || local.Named(at) || !local.Issued(at) {
		t.Errorf("a token with the host's IP address, %v", err)
	}
	for uri, want := range map[string]string{
		"jceks://file/etc/keys.jceks": "scheme isn't kms", "kms://kms.example.com:9600/kms": "http@", "kms://http@kms.example.com/kms": "no port", "kms://http@;:9600/kms": "hosts",
		"kms://http@" + strings.Repeat("h;", 40) + "h:9600/kms": "hosts", "kms://%": "no URI",
	} {
		if _, err := Parse(uri); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), uri) {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

// server answers as a Key Management Server might that is wrong or hostile.
func server(t *testing.T, answer http.HandlerFunc) *Server {
	t.Helper()
	h := httptest.NewServer(answer)
	t.Cleanup(h.Close)
	s, err := Parse("kms://http@" + strings.TrimPrefix(h.URL, "http://") + "/kms")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOddAnswers(t *testing.T) {
	for want, x := range map[string]struct {
		status int
		body   string
	}{
		"has no key":                  {200, `{"material":""}`},
		"is no key":                   {200, `<html>`},
		"none of AES":                 {200, `{"material":"c2hvcnQ"}`},
		"User alice may not":          {403, `{"RemoteException":{"message":"User alice may not\u001b[2J","exception":"AuthorizationException","javaClassName":"org.apache.hadoop.security.authorize.AuthorizationException"}}`},
		"500 Internal Server Error":   {500, "no\x1b[2J"},
		"302 Found":                   {302, ""},
		"401 Unauthorized: who's the": {401, "who's there" + strings.Repeat("x", 1<<20)},
	} {
		s := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(x.status)
			_, _ = io.WriteString(w, x.body)
		})
		_, err := s.FileCipher(t.Context(), Caller{User: "alice"}, described(make([]byte, 16)))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1000 {
			t.Errorf("want %q: %v", want, err)
		}
		if refused := ipc.IsClass(err, ipc.AuthorizationException); refused != (x.status == 403) {
			t.Errorf("%d: %v", x.status, err)
		}
	}
}

// A host that is away doesn't matter while another answers. What is sent has the token in a header, and no user's name.
func TestTheNextHost(t *testing.T) {
	var sent *http.Request
	var body []byte
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"material":"MDEyMzQ1Njc4OWFiY2RlZg"}`)
	})
	s.bases = append([]string{"http://127.0.0.1:1/kms/v1/"}, s.bases...)
	tok := token.Token{Kind: token.KindKMS, Identifier: []byte("id"), Password: []byte("password")}
	if _, err := s.FileCipher(t.Context(), Caller{Token: &tok, User: "alice"}, described(make([]byte, 16))); err != nil {
		t.Fatal(err)
	}
	if sent.Method != http.MethodPost || sent.URL.RequestURI() != "/kms/v1/keyversion/zone@0/_eek?eek_op=decrypt" || sent.Header.Get("X-Hadoop-Delegation-Token") != tok.URLString() {
		t.Errorf("%s %s, %v", sent.Method, sent.URL, sent.Header)
	}
	if want := `{"iv":"AAAAAAAAAAAAAAAAAAAAAA","material":"MDEyMzQ1Njc4OWFiY2RlZg","name":"zone"}`; string(body) != want {
		t.Errorf("the request is %s", body)
	}
	s.bases = []string{"http://127.0.0.1:1/kms/v1/"}
	if err := s.Cancel(t.Context(), Caller{}, tok); err == nil || strings.Contains(err.Error(), tok.URLString()) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("the error shows the token, or not who is away: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("kms://https@kms1;kms2:9600/kms")
	f.Fuzz(func(t *testing.T, uri string) {
		if s, err := Parse(uri); err == nil && (len(s.bases) == 0 || len(s.bases) > maxHosts) {
			t.Errorf("%q has %d hosts", uri, len(s.bases))
		}
	})
}

func FuzzMaterial(f *testing.F) {
	f.Add([]byte(`{"material":"c2hvcnQ="}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if key, err := material(answer); err == nil && len(key) == 0 {
			t.Error("an empty key")
		}
		words(answer)
	})
}
