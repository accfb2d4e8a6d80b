package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"heddle/yarn/records"
)

// KindNode is the kind of a token by which a NodeManager and the ResourceManager prove to each other that they know the
// cluster's secret. YARN has no such token.
const KindNode = "HEDDLE_NODE_TOKEN"

// NodeKeyUse names the purpose for which the key of node tokens is derived (secret.Secret.Key); NodeKeyLength is its length in bytes.
const (
	NodeKeyUse    = "node registration"
	NodeKeyLength = 32
)

// Node returns the token of a node. Its identifier is the node's id.
func Node(key []byte, node records.NodeID) Token {
	identifier := []byte(node.String())
	return Token{Identifier: identifier, Password: nodePassword(key, identifier), Kind: KindNode}
}

// ParseNode returns the node that an identifier names, and the password of its token.
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
