package client

import (
	"fmt"

	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// ClientSecrets checks the tokens by which clients prove to an ApplicationMaster who they are (ipc.ServerConfig.Secrets of a
// port of its own, with ipc.AuthToken; Hadoop: ClientToAMTokenSecretManager). The ResourceManager hands such tokens out with
// reports of the application, on secure clusters, and those of Heddle that heddle.am.client-tokens asks for it.
type ClientSecrets struct {
	attempt records.AttemptID
	key     *token.MasterKey
}

// NewClientSecrets takes the attempt that is served, and the ClientKey of its registration.
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
