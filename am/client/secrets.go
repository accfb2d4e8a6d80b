package client

import (
	"fmt"

	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// ClientSecrets checks the tokens by which clients prove to an ApplicationMaster who they are (Hadoop:
// ClientToAMTokenSecretManager). Use it as ipc.ServerConfig.Secrets of a port that takes ipc.AuthToken. The
// ResourceManager gives such tokens out with application reports on secure clusters, and everywhere if
// heddle.am.client-tokens is set.
type ClientSecrets struct {
	attempt records.AttemptID
	key     *token.MasterKey
}

// NewClientSecrets takes the served attempt, and the ClientKey from its Registration.
func NewClientSecrets(attempt records.AttemptID, key []byte) ClientSecrets {
	return ClientSecrets{attempt, token.NewMasterKey(0, key)}
}

// Bearer implements ipc.Secrets.
func (s ClientSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseClientToAM(identifier)
	if err != nil {
		return ipc.Bearer{}, fmt.Errorf("%w: %w", ipc.ErrMalformedIdentifier, err)
	}
	if id.Attempt != s.attempt || id.Client == "" {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "Illegal client-token!")
	}
	return ipc.Bearer{Password: s.key.Sign(identifier), User: id.User(), Kind: token.KindClientToAM, Identifier: id}, nil
}
