package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/writable"
)

type vectors struct {
	Tokens []struct {
		Name      string  `json:"name"`
		Kind      string  `json:"kind"`
		Service   string  `json:"service"`
		ID        hexText `json:"identifier_hex"`
		Message   string  `json:"identifier_message"`
		Password  hexText `json:"password_hex"`
		MasterKey hexText `json:"master_key_hex"`
		KeyID     int32   `json:"master_key_id"`
	} `json:"tokens"`
	Shuffle []struct {
		Secret hexText `json:"secret_hex"`
		Text   string  `json:"hashed_text"`
		Hash   string  `json:"UrlHash"`
	} `json:"shuffle"`
	Credentials []struct {
		Name   string  `json:"name"`
		Format Format  `json:"format"`
		Bytes  hexText `json:"hex"`
	} `json:"credentials"`
	Writable []struct {
		Name  string  `json:"name"`
		Bytes hexText `json:"writable_hex"`
		URL   string  `json:"url_string"`
	} `json:"writable_tokens"`
	StateStore struct {
		DelegationKey hexText `json:"DelegationKey_2_hex"`
		AMRMKeys      hexText `json:"AMRMTokenSecretManagerNode_hex"`
	} `json:"rm_state_store"`
}

type hexText []byte

func (h *hexText) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// recorded returns tokens, credentials and keys of a stock Hadoop 3.4.2.
func recorded(t testing.TB) vectors {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRecordedPasswords(t *testing.T) {
	n := 0
	for _, tok := range recorded(t).Tokens {
		if len(tok.MasterKey) == 0 {
			continue
		}
		n++
		k := NewMasterKey(tok.KeyID, tok.MasterKey)
		if got := k.Sign(tok.ID); !bytes.Equal(got, tok.Password) {
			t.Errorf("%s: password %x, want %x", tok.Name, got, tok.Password)
		}
		if !k.Verify(tok.ID, tok.Password) {
			t.Errorf("%s: refused", tok.Name)
		}
		for _, wrong := range [][]byte{nil, tok.Password[:19], append([]byte{0}, tok.Password...), make([]byte, 20)} {
			if k.Verify(tok.ID, wrong) {
				t.Errorf("%s: accepted with password %x", tok.Name, wrong)
			}
		}
		if k.Verify(append([]byte{}, tok.ID[1:]...), tok.Password) {
			t.Errorf("%s: accepted for another identifier", tok.Name)
		}
		if got := MasterKeyFromPB(k.PB()); got.ID() != tok.KeyID || !bytes.Equal(got.Secret(), tok.MasterKey) {
			t.Errorf("%s: key came back as %d %x", tok.Name, got.ID(), got.Secret())
		}
	}
	if n < 8 {
		t.Errorf("only %d passwords were compared", n)
	}
}

// Every identifier is read, and written as the same bytes.
func TestRecordedIdentifiers(t *testing.T) {
	for _, tok := range recorded(t).Tokens {
		var again []byte
		var user string
		var err error
		switch tok.Kind {
		case KindAMRM:
			var id AMRM
			id, err = ParseAMRM(tok.ID)
			again, user = id.Encode(), id.User()
			if id.KeyID != tok.KeyID {
				t.Errorf("%s: key %d, want %d", tok.Name, id.KeyID, tok.KeyID)
			}
		case KindNM:
			var id NM
			id, err = ParseNM(tok.ID)
			again, user = id.Encode(), id.User()
			if id.KeyID != tok.KeyID || id.Node != (records.NodeID{Host: "localhost", Port: 20041}) || id.Submitter != "root" {
				t.Errorf("%s: read as %+v", tok.Name, id)
			}
		case KindContainer:
			var id *pb.ContainerTokenIdentifier
			id, err = ParseContainer(tok.ID)
			if err == nil {
				again, err = Encode(id)
			}
			user = records.ContainerIDFrom(id.GetContainerId()).String()
		case KindDelegation:
			var id Delegation
			id, err = ParseDelegation(tok.ID)
			again = id.Encode()
			user, _ = id.User()
		case KindClientToAM:
			var id ClientToAM
			id, err = ParseClientToAM(tok.ID)
			again, user = id.Encode(), id.User()
		case KindJob:
			user, err = ParseJob(tok.ID)
			made := Job(NewMasterKey(0, nil), user)
			again = made.Identifier
			if made.Service != tok.Service || made.Kind != tok.Kind {
				t.Errorf("%s: made as %v", tok.Name, made)
			}
		case KindLocalizer:
			user, again = "localizer", tok.ID
		default:
			t.Fatalf("%s: kind %s", tok.Name, tok.Kind)
		}
		if err != nil || !bytes.Equal(again, tok.ID) {
			t.Errorf("%s: came back as %x, %v, want %x", tok.Name, again, err, tok.ID)
		}
		want := map[string]string{
			"AMRMToken": "appattempt_1795253712789_0001_000001", "NMToken": "appattempt_1795253712789_0001_000001",
			"ContainerToken 1": "container_1795253712789_0001_01_000001", "RM delegation token": "root",
			"ClientToAMToken": "alice", "JobToken (live job)": "job_1795253712789_0001",
		}[tok.Name]
		if want != "" && user != want {
			t.Errorf("%s: user %s, want %s", tok.Name, user, want)
		}
	}
}

func TestDelegationOnBehalfOfAnother(t *testing.T) {
	for _, c := range []struct {
		id             Delegation
		user, realUser string
	}{
		{Delegation{Owner: "alice"}, "alice", ""},
		{Delegation{Owner: "alice", RealUser: "oozie"}, "alice", "oozie"},
		{Delegation{Owner: "alice", RealUser: "alice"}, "alice", ""},
	} {
		id, err := ParseDelegation(c.id.Encode())
		if err != nil || id != c.id {
			t.Errorf("%+v came back as %+v, %v", c.id, id, err)
		}
		if user, realUser := id.User(); user != c.user || realUser != c.realUser {
			t.Errorf("%+v: user %q by %q", c.id, user, realUser)
		}
	}
}

func TestIdentifiersOfNobodyAreRefused(t *testing.T) {
	for _, b := range [][]byte{nil, {0xff, 0xfe}, {0x10, 1}} {
		if id, err := ParseAMRM(b); err == nil {
			t.Errorf("AMRM identifier %x was read as %v", b, id)
		}
		if id, err := ParseNM(b); err == nil {
			t.Errorf("NM identifier %x was read as %v", b, id)
		}
		if id, err := ParseContainer(b); err == nil {
			t.Errorf("container identifier %x was read as %v", b, id)
		}
		if id, err := ParseClientToAM(b); err == nil {
			t.Errorf("client identifier %x was read as %v", b, id)
		}
	}
}

func TestRecordedTokenForms(t *testing.T) {
	for _, w := range recorded(t).Writable {
		tok, err := Read(writable.NewReader(w.Bytes))
		if err != nil {
			t.Errorf("%s: %v", w.Name, err)
			continue
		}
		if got := tok.AppendWritable(nil); !bytes.Equal(got, w.Bytes) {
			t.Errorf("%s: written as %x, want %x", w.Name, got, w.Bytes)
		}
		if got := tok.URLString(); got != w.URL {
			t.Errorf("%s: URL string %s, want %s", w.Name, got, w.URL)
		}
		for _, s := range []string{w.URL, w.URL + "==", "\r\n" + w.URL + "\n", strings.NewReplacer("-", "+", "_", "/").Replace(w.URL)} {
			if got, err := ParseURLString(s); err != nil || !got.Equal(tok) {
				t.Errorf("%s: %q read as %v, %v", w.Name, s, got, err)
			}
		}
		if got := FromPB(tok.PB()); !got.Equal(tok) {
			t.Errorf("%s: came back from protobuf as %v", w.Name, got)
		}
		if strings.Contains(tok.String(), hex.EncodeToString(tok.Password)) {
			t.Errorf("%s: the password shows in %v", w.Name, tok)
		}
	}
}

// The shuffle signs URLs with the secret in the credentials, which the job also sends as the password of a token.
func TestShuffleSecret(t *testing.T) {
	v := recorded(t).Shuffle[0]
	data := Token{Password: v.Secret, Kind: KindJob, Service: "job_1_0001"}.AppendWritable(nil)
	secret, job, err := ShuffleSecret(append(data, 0, 0))
	if err != nil || job != "job_1_0001" {
		t.Fatalf("job %s, %v", job, err)
	}
	if got := base64.StdEncoding.EncodeToString(NewMasterKey(0, secret).Sign([]byte(v.Text))); got != v.Hash {
		t.Errorf("hash %s, want %s", got, v.Hash)
	}
	if _, _, err := ShuffleSecret(data[:5]); err == nil {
		t.Error("half a token was read")
	}
}

// The ResourceManager's state store keeps the keys in two forms.
func TestRecordedKeys(t *testing.T) {
	v := recorded(t)
	r := writable.NewReader(v.StateStore.DelegationKey)
	id, err := r.VInt()
	if err != nil {
		t.Fatal(err)
	}
	expiry, err := r.VLong()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again := writable.AppendBytes(writable.AppendVLong(writable.AppendVLong(nil, int64(id)), expiry), secret)
	if !bytes.Equal(again, v.StateStore.DelegationKey) || id != 2 || time.UnixMilli(expiry).Year() != 2026 {
		t.Errorf("key %d until %d: %x", id, expiry, again)
	}
	_, _, n := protowire.ConsumeTag(v.StateStore.AMRMKeys)
	b, _ := protowire.ConsumeBytes(v.StateStore.AMRMKeys[n:])
	var m pb.MasterKey
	if err := proto.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	k := MasterKeyFromPB(&m)
	for _, tok := range v.Tokens {
		if tok.Kind == KindAMRM && (k.ID() != tok.KeyID || !k.Verify(tok.ID, tok.Password)) {
			t.Errorf("key %d does not verify %s", k.ID(), tok.Name)
		}
		if tok.Kind == KindDelegation && !NewMasterKey(id, secret).Verify(tok.ID, tok.Password) {
			t.Errorf("key %d does not verify %s", id, tok.Name)
		}
	}
}

func anyToken() *rapid.Generator[Token] {
	return rapid.Custom(func(t *rapid.T) Token {
		return Token{
			Identifier: rapid.SliceOf(rapid.Byte()).Draw(t, "identifier"), Password: rapid.SliceOf(rapid.Byte()).Draw(t, "password"),
			Kind: rapid.String().Draw(t, "kind"), Service: rapid.String().Draw(t, "service"),
		}
	})
}

func TestSigningFromManyGoroutines(t *testing.T) {
	secret := []byte("a key that is longer than the block of the hash, so that it is hashed first, which takes 64 bytes")
	k := NewMasterKey(1, secret)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				id := []byte(strings.Repeat("x", g*i%300))
				mac := hmac.New(sha1.New, secret)
				mac.Write(id)
				want := mac.Sum(nil)
				if got := k.Sign(id); !bytes.Equal(got, want) || !k.Verify(id, want) {
					t.Errorf("%d bytes: got %x, want %x", len(id), got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestGeneratedKeys(t *testing.T) {
	k, err := GenerateMasterKey(5, strings.NewReader("12345678"))
	if err != nil || string(k.Secret()) != "12345678" || k.ID() != 5 {
		t.Errorf("got %v, %v", k, err)
	}
	if k, err := GenerateMasterKey(5, strings.NewReader("1234")); err == nil {
		t.Errorf("a short key was generated: %x", k.Secret())
	}
	a, err := GenerateMasterKey(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := GenerateMasterKey(1, nil)
	if err != nil || bytes.Equal(a.Secret(), b.Secret()) {
		t.Errorf("two keys are the same: %x, %v", a.Secret(), err)
	}
}

func FuzzURLString(f *testing.F) {
	for _, w := range recorded(f).Writable {
		f.Add(w.URL)
	}
	f.Add("=")
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := ParseURLString(s)
		if err != nil {
			return
		}
		if again, err := ParseURLString(tok.URLString()); err != nil || !again.Equal(tok) {
			t.Fatalf("%v came back as %v, %v", tok, again, err)
		}
	})
}

func FuzzIdentifiers(f *testing.F) {
	for _, tok := range recorded(f).Tokens {
		f.Add([]byte(tok.ID))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := ParseAMRM(b); err == nil {
			if again, err := ParseAMRM(id.Encode()); err != nil || again != id {
				t.Errorf("%+v came back as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseNM(b); err == nil {
			if again, err := ParseNM(id.Encode()); err != nil || again != id {
				t.Errorf("%+v came back as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseDelegation(b); err == nil {
			if again, err := ParseDelegation(id.Encode()); err != nil || again != id {
				t.Errorf("%+v came back as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseClientToAM(b); err == nil {
			if again, err := ParseClientToAM(id.Encode()); err != nil || again != id {
				t.Errorf("%+v came back as %+v, %v", id, again, err)
			}
		}
		if id, err := ParseContainer(b); err == nil {
			if _, err := Encode(id); err != nil {
				t.Errorf("%v: %v", id, err)
			}
		}
		if job, err := ParseJob(b); err == nil {
			if again, err := ParseJob(Job(NewMasterKey(0, nil), job).Identifier); err != nil || again != job {
				t.Errorf("%q came back as %q, %v", job, again, err)
			}
		}
	})
}

func BenchmarkSign(b *testing.B) {
	k := NewMasterKey(1, []byte("12345678"))
	id := make([]byte, 140) // a container token's
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var sum [PasswordLength]byte
		for pb.Next() {
			k.AppendSign(sum[:0], id)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	k := NewMasterKey(1, []byte("12345678"))
	id := make([]byte, 30) // an AMRM token's
	password := k.Sign(id)
	b.ReportAllocs()
	for b.Loop() {
		if !k.Verify(id, password) {
			b.Fatal("refused")
		}
	}
}
