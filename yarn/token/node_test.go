package token_test

import (
	"bytes"
	"testing"

	"heddle/yarn/records"
	"heddle/yarn/token"
)

// FuzzNode: an identifier is refused, or has a password that only the key gives.
func FuzzNode(f *testing.F) {
	for _, s := range []string{"n1:8041", "n1:08041", "[::1]:1", "n1", ":1", "n1:99999", "", "\xff:1"} {
		f.Add([]byte(s))
	}
	key, other := bytes.Repeat([]byte("k"), token.NodeKeyLength), bytes.Repeat([]byte("o"), token.NodeKeyLength)
	f.Fuzz(func(t *testing.T, identifier []byte) {
		node, password, err := token.ParseNode(key, identifier)
		if err != nil {
			return
		}
		if node.Host == "" {
			t.Errorf("%q is a node without a host", identifier)
		}
		if _, another, _ := token.ParseNode(other, identifier); bytes.Equal(password, another) {
			t.Error("two keys give the same password")
		}
		own := token.Node(key, node)
		if back, p, err := token.ParseNode(key, own.Identifier); err != nil || back != node || !bytes.Equal(p, own.Password) {
			t.Errorf("%v becomes %v, %v", node, back, err)
		}
	})
}

func TestNodeTokenDoesNotShowItsPassword(t *testing.T) {
	tok := token.Node([]byte("key"), records.NodeID{Host: "n1", Port: 8041})
	if bytes.Contains([]byte(tok.String()), tok.Password) || tok.Kind != token.KindNode {
		t.Error(tok)
	}
}
