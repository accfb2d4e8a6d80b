package kerberos

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/pb"
	"heddle/yarn/sasl"
)

func mustHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// labKeys is a keytab with the keys of the realm in whose part of keys.txt a word stands; "" is the first part.
func labKeys(t testing.TB, part string) *Keytab {
	t.Helper()
	k, err := OpenKeytab(kerberostest.Recorded(t, "testdata/keys.txt", part))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// step is a SASL message of a recorded conversation.
type step struct {
	client bool
	state  pb.RpcSasl_SaslState
	token  []byte
}

func recorded(t testing.TB, name string) (steps []step) {
	t.Helper()
	for line := range strings.Lines(text(t, name)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) != 5 || columns[0] == "0" {
			continue
		}
		packet := mustHex(t, columns[4])[4:]
		_, n := protowire.ConsumeBytes(packet)
		body, m := protowire.ConsumeBytes(packet[max(n, 0):])
		var s pb.RpcSasl
		if n < 0 || m < 0 || proto.Unmarshal(body, &s) != nil || !s.HasState() {
			continue
		}
		steps = append(steps, step{columns[1] == "C", s.GetState(), s.GetToken()})
	}
	return steps
}

// authenticatorOf opens a recorded AP-REQ.
func authenticatorOf(t testing.TB, k *Keytab, token []byte) *messages.APReq {
	t.Helper()
	_, message, err := parseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	var req messages.APReq
	if err := req.Unmarshal(message); err != nil {
		t.Fatal(err)
	}
	if err := k.open(&req.Ticket); err != nil {
		t.Fatal(err)
	}
	if err := req.DecryptAuthenticator(req.Ticket.DecryptedEncPart.Key); err != nil {
		t.Fatal(err)
	}
	return &req
}

// replay plays a recorded client's part against a Server whose clock is that of the recording, and checks that each answer says what the recorded one
// did. It returns the rest of the conversation.
func replay(t testing.TB, k *Keytab, principal, client string, q sasl.Qualities, steps []step) (*Server, []step) {
	t.Helper()
	for steps[0].state != pb.RpcSasl_INITIATE {
		steps = steps[1:]
	}
	req := authenticatorOf(t, k, steps[0].token)
	_, answer, err := parseToken(steps[1].token)
	if err != nil {
		t.Fatal(err)
	}
	_, number, err := openReply(answer, &req.Authenticator, req.Ticket.DecryptedEncPart.Key)
	if err != nil {
		t.Fatal(err)
	}
	made := req.Authenticator.CTime
	acceptor := &Acceptor{
		Principal: principal, Keytab: k, Replays: NewReplays(),
		Now: func() time.Time { return made.Add(time.Second) }, Random: bytes.NewReader(binary.BigEndian.AppendUint32(nil, number)),
	}
	s := NewServer(acceptor, q)
	reply, _, err := s.Evaluate(steps[0].token)
	if err != nil {
		t.Fatal(err)
	}
	if len(reply) != len(steps[1].token) {
		t.Errorf("an AP-REP of %d bytes, want %d", len(reply), len(steps[1].token))
	}
	_, ours, err := parseToken(reply)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := openReply(ours, &req.Authenticator, req.Ticket.DecryptedEncPart.Key); err != nil || again != number {
		t.Errorf("our AP-REP has number %d, %v; want %d", again, err, number)
	}
	offer, complete, err := s.Evaluate(steps[2].token)
	if err != nil || complete || !bytes.Equal(offer, steps[3].token) {
		t.Errorf("offer %x, %v, want %x", offer, err, steps[3].token)
	}
	if s.Client() != "" || s.Protection() != nil {
		t.Error("the client is known too early")
	}
	if answer, complete, err := s.Evaluate(steps[4].token); err != nil || !complete || answer != nil || s.Client() != client {
		t.Fatalf("complete %v, client %q, %v; want %s", complete, s.Client(), err, client)
	}
	if _, _, err := NewServer(acceptor, q).Evaluate(steps[0].token); err == nil || !strings.Contains(err.Error(), "replay") {
		t.Errorf("the same request again: %v", err)
	}
	return s, steps[6:]
}

// Our acceptor takes the handshakes that stock's clients made with stock's servers, and says what these said, byte for byte where it isn't encrypted.
func TestRecordedHandshakes(t *testing.T) {
	k := labKeys(t, "")
	for name, x := range map[string][2]string{
		"nm-rm-register-kerberos":     {"rm/localhost@LAB.TEST", "nm/localhost@LAB.TEST"},
		"client-rm-submit-kerberos":   {"rm/localhost@LAB.TEST", "alice@LAB.TEST"},
		"rm-namenode-renew-token":     {"nn/localhost@LAB.TEST", "rm/localhost@LAB.TEST"},
		"client-namenode-kerberos":    {"nn/localhost@LAB.TEST", "alice@LAB.TEST"},
		"nm-namenode-kerberos-logdir": {"nn/localhost@LAB.TEST", "nm/localhost@LAB.TEST"},
		"jhs-namenode-kerberos":       {"nn/localhost@LAB.TEST", "jhs/localhost@LAB.TEST"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := recorded(t, "handshakes/"+name+".frames")
			s, _ := replay(t, k, x[0], x[1], nil, steps)
			if s.Protection() != nil {
				t.Error("there is a protection")
			}
			// What the lab's own tool read in the same bytes.
			opened := strings.SplitN(text(t, "handshakes-opened.txt"), "== "+name+"\n", 2)[1]
			req := authenticatorOf(t, k, steps[2].token)
			a := req.Authenticator
			for _, want := range []string{
				"seq " + strconv.FormatInt(a.SeqNumber, 10) + " cksum type 0x8003 " + hex.EncodeToString(checksumOf(flagMutual|flagReplay|flagSequence|flagSeal|flagSign).Checksum),
				hex.EncodeToString(a.SubKey.KeyValue), hex.EncodeToString(req.Ticket.DecryptedEncPart.Key.KeyValue),
			} {
				if !strings.Contains(strings.SplitN(opened, "\n==", 2)[0], want) {
					t.Errorf("the opened handshake has no %q", want)
				}
			}
		})
	}
}

// Each protected token of stock's client and server opens in order. What comes out is what the lab's own tool found.
func TestRecordedProtections(t *testing.T) {
	for _, x := range []struct {
		name, keys, opened string
		quality            sasl.Quality
		least              int
	}{{"privacy-client-rm", "privacy", "privacy-opened.txt", sasl.Privacy, 10}, {"integrity-client-rm", "integrity", "", sasl.Integrity, 10}} {
		k := labKeys(t, x.keys)
		steps := recorded(t, "handshakes/"+x.name+".frames")
		s, rest := replay(t, k, "rm/localhost@LAB.TEST", "alice@LAB.TEST", sasl.Qualities{x.quality}, steps)
		server, client := s.Protection(), &Context{initiator: true, key: s.context.key, send: s.context.want, want: s.context.send}
		theirs := &protection{context: client, seal: x.quality == sasl.Privacy, max: 1000}
		found := 0
		for _, one := range rest {
			if one.state != pb.RpcSasl_WRAP {
				continue
			}
			open := server
			if !one.client {
				open = theirs
			}
			message, err := open.Unwrap(bytes.Clone(one.token))
			if err != nil {
				t.Fatalf("%s: token %d: %v", x.name, found, err)
			}
			if x.opened != "" && found < 6 && !strings.Contains(text(t, x.opened), "payload "+strconv.Itoa(len(message))+": "+hex.EncodeToString(message[:30])) {
				t.Errorf("%s: token %d holds %.60x", x.name, found, message)
			}
			// The other side wraps the same message into a token of the same length, and the same bytes if it isn't encrypted.
			again := theirs
			if !one.client {
				again = server.(*protection)
			}
			sealed, err := again.Wrap(nil, message)
			if err != nil || len(sealed) != len(one.token) || x.quality == sasl.Integrity && !bytes.Equal(sealed, one.token) {
				t.Fatalf("%s: token %d: %x, %v, want %x", x.name, found, sealed, err, one.token)
			}
			found++
		}
		if found < x.least {
			t.Errorf("%s: only %d tokens", x.name, found)
		}
	}
}
