package token

import (
	"encoding/hex"
	"testing"
)

// A token of a stock NameNode's (kerberos lab).
func TestIdentifiersOfHDFS(t *testing.T) {
	id := HDFS{Owner: "alice@LAB.TEST", Renewer: "yarn", IssueMS: 1795892171129, MaxMS: 1796496971129, Sequence: 55, KeyID: 4}
	b := id.Encode()
	if got, want := hex.EncodeToString(b), "000e616c696365404c41422e544553540479617261"; got[:20] != want[:20] {
		t.Errorf("encoded as %s", got)
	}
	back, err := ParseHDFS(b)
	if err != nil || back != id {
		t.Errorf("%+v, %v", back, err)
	}
	for cut := range b {
		if _, err := ParseHDFS(b[:cut]); err == nil {
			t.Errorf("the first %d bytes are taken", cut)
		}
	}
	want := "Kind: HDFS_DELEGATION_TOKEN, Service: 127.0.0.1:33220, Ident: (token for alice: HDFS_DELEGATION_TOKEN owner=alice@LAB.TEST, renewer=yarn, realUser=, issueDate=1795892171129, maxDate=1796496971129, sequenceNumber=55, masterKeyId=4)"
	if got := Describe(Token{Kind: KindHDFS, Service: "127.0.0.1:33220", Identifier: b, Password: []byte("secret")}); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got := Describe(Token{Kind: KindHDFS, Service: "a", Identifier: []byte{1}}); got != "Kind: HDFS_DELEGATION_TOKEN, Service: a, Ident: 01" {
		t.Errorf("nonsense: %s", got)
	}
}

// Clients leave the renewer out of tokens that are not to be renewed. Nothing is known of what can't be read, and of other kinds.
func TestTokensWithoutRenewer(t *testing.T) {
	for _, renewer := range []string{"", "yarn"} {
		id := Delegation{Owner: "alice", Renewer: renewer, Sequence: 1}
		for kind, b := range map[string][]byte{KindHDFS: HDFS(id).Encode(), KindKMS: HDFS(id).Encode(), KindDelegation: id.Encode(), KindTimeline: id.Encode()} {
			if got := HasNoRenewer(Token{Kind: kind, Identifier: b}); got != (renewer == "") {
				t.Errorf("%s, renewer %q: %v", kind, renewer, got)
			}
		}
	}
	for _, kind := range []string{KindHDFS, KindKMS, KindDelegation, KindAMRM} {
		if HasNoRenewer(Token{Kind: kind, Identifier: []byte{0xff}}) {
			t.Errorf("%s: nonsense", kind)
		}
	}
}

func FuzzHDFS(f *testing.F) {
	f.Add(HDFS{Owner: "alice", Sequence: 1}.Encode())
	f.Add([]byte{0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := ParseHDFS(b)
		if err != nil {
			return
		}
		if again, err := ParseHDFS(id.Encode()); err != nil || again != id {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
