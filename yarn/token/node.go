package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"heddle/yarn/records"
)

// KindNode is the kind of a token by which a NodeManager proves to the ResourceManager, and that to it, that both know the
// cluster's secret. YARN has none.
const KindNode = "HEDDLE_NODE_TOKEN"

// NodeKeyUse is what the key of node tokens is derived for (secret.Secret.Key), NodeKeyLength its length in bytes.
const (
	NodeKeyUse    = "node registration"
	NodeKeyLength = 32
)

// Node makes the token of a node, whose identifier is the node's id.
func Node(key []byte, node records.NodeID) Token {
	identifier := []byte(node.String())
	return Token{Identifier: identifier, Password: nodePassword(key, identifier), Kind: KindNode}
}

// ParseNode returns the node of an identifier, and the password that belongs to it.
func ParseNode(key, identifier []byte) (node records.NodeID, password []byte, err error) {
	node, err = records.ParseNodeID(string(identifier))
	if err != nil {
		return node, nil, fmt.Errorf("identifier of a node's token: %w", err)
	}
	return node, nodePassword(key, identifier), nil
}

func nodePassword(key, identifier []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(identifier)
	return m.Sum(nil)
}
