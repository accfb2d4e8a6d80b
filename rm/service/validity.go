package service

import (
	"heddle/yarn/ipc"
	"heddle/yarn/token"
)

// Validity returns who owns a delegation token, its renewer, until when it holds unless it is renewed, and until when it can be renewed, in ms since 1970.
func (s ClientSecrets) Validity(identifier []byte) (id token.Delegation, renewBy int64, err error) {
	if id, err = token.ParseDelegation(identifier); err != nil {
		return id, 0, ipc.ErrMalformedIdentifier
	}
	d, ok := s.delegation(id, identifier)
	if !ok {
		return id, 0, ipc.NewException(ipc.InvalidToken, "Token not found (%s)", describe(id))
	}
	return id, d.RenewBy, nil
}
