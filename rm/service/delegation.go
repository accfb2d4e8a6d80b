package service

import (
	"context"
	"crypto/hmac"
	"fmt"

	"heddle/rm/leader/delegation"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/service/identity"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// Delegation tokens let their bearers act as their owners towards the ResourceManager, for as long as they are renewed (Hadoop:
// AbstractDelegationTokenSecretManager, whose words the refusals have). They work on clusters without Kerberos as well.

// NewDelegationToken makes a token for a user, who may have been acting for another (owner). With Kerberos the names are full ones.
func (s *Service) NewDelegationToken(owner, realUser, renewer string) (token.Token, error) {
	l, err := s.leader()
	if err != nil {
		return token.Token{}, err
	}
	if renewer, err = s.Identity.Short(renewer); err != nil {
		return token.Token{}, err
	}
	var made token.Token
	err = l.Delegations().Issue(delegation.Names{Owner: owner, Renewer: renewer, RealUser: realUser}, func(n delegation.Draft) (identifier, password []byte) {
		id := token.Delegation{
			Owner: owner, Renewer: renewer, RealUser: realUser,
			IssueMS: n.Issued, MaxMS: n.Max, Sequence: n.Sequence, KeyID: n.Key.ID,
		}
		made = s.keys.get(ledgerpb.KeyKind_DELEGATION, n.Key).Mint(token.KindDelegation, "", id.Encode())
		return made.Identifier, made.Password
	})
	return made, s.exception(err)
}

// RenewDelegationToken makes a token good for longer; it returns until when, in ms since 1970.
func (s *Service) RenewDelegationToken(user string, t token.Token) (until int64, err error) {
	l, err := s.leader()
	if err != nil {
		return 0, err
	}
	id, err := token.ParseDelegation(t.Identifier)
	if err != nil {
		return 0, ipc.NewException(ipc.IOException, "%v", err)
	}
	renewer, err := s.Identity.Short(user)
	if err != nil {
		return 0, err
	}
	if s.Identity.IsLogin(user) {
		renewer = id.Renewer // the ResourceManager renews for its applications
	}
	now := s.View.Now().UnixMilli()
	switch {
	case id.MaxMS < now:
		err = ipc.NewException(ipc.InvalidToken, "%s tried to renew an expired token (%s) max expiration date: %d currentTime: %d",
			renewer, describe(id), id.MaxMS, now)
	case id.Renewer == "":
		err = ipc.NewException(ipc.AccessControlException, "%s tried to renew a token (%s) without a renewer", renewer, describe(id))
	case id.Renewer != renewer:
		err = ipc.NewException(ipc.AccessControlException, "%s tries to renew a token (%s) with non-matching renewer %s",
			renewer, describe(id), id.Renewer)
	default:
		if d, ok := s.delegation(id, t.Identifier); ok && !hmac.Equal(d.Password, t.Password) {
			err = ipc.NewException(ipc.AccessControlException, "%s is trying to renew a token (%s) with wrong password", renewer, describe(id))
		}
	}
	if err != nil {
		return 0, err
	}
	until, err = l.Delegations().Renew(id.Sequence, t.Identifier, id.MaxMS)
	return until, s.missing(err, "Renewal request for unknown token", id)
}

// CancelDelegationToken makes a token worthless.
func (s *Service) CancelDelegationToken(user string, t token.Token) error {
	l, err := s.leader()
	if err != nil {
		return err
	}
	id, err := token.ParseDelegation(t.Identifier)
	if err != nil {
		return ipc.NewException(ipc.IOException, "%v", err)
	}
	owner, _ := id.User()
	if owner == "" {
		return ipc.NewException(ipc.InvalidToken, "Token with no owner (%s)", describe(id))
	}
	short, err := s.Identity.Short(user)
	if err != nil {
		return err
	}
	if user != owner && (id.Renewer == "" || short != id.Renewer) {
		return ipc.NewException(ipc.AccessControlException, "%s is not authorized to cancel the token (%s)", user, describe(id))
	}
	return s.missing(l.Delegations().Cancel(id.Sequence, t.Identifier), "Token not found", id)
}

// missing gives a refusal of a token that isn't known Hadoop's words.
func (s *Service) missing(err error, words string, id token.Delegation) error {
	if refusal.Is(err, refusal.NoSuchToken) {
		return ipc.NewException(ipc.InvalidToken, "%s (%s)", words, describe(id))
	}
	return s.exception(err)
}

func (s *Service) delegation(id token.Delegation, identifier []byte) (d ledger.Delegation, ok bool) {
	s.Backend.Read(func(st *ledger.State) {
		d, ok = st.Delegations[id.Sequence]
		ok = ok && string(d.Identifier) == string(identifier)
	})
	return d, ok
}

// describe writes an identifier as Hadoop's AbstractDelegationTokenIdentifier.toString does.
func describe(id token.Delegation) string {
	return fmt.Sprintf("%s owner=%s, renewer=%s, realUser=%s, issueDate=%d, maxDate=%d, sequenceNumber=%d, masterKeyId=%d",
		token.KindDelegation, id.Owner, id.Renewer, id.RealUser, id.IssueMS, id.MaxMS, id.Sequence, id.KeyID)
}

// ClientSecrets checks the delegation tokens of clients (ipc.ServerConfig.Secrets of the clients' port).
type ClientSecrets struct{ *Service }

// Bearer implements ipc.Secrets.
func (s ClientSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	id, err := token.ParseDelegation(identifier)
	if err != nil {
		return ipc.Bearer{}, ipc.ErrMalformedIdentifier
	}
	if _, err := s.leader(); err != nil {
		return ipc.Bearer{}, err
	}
	d, ok := s.delegation(id, identifier)
	if !ok {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "Token for real user: %s, can't be found in cache", id.RealUser)
	}
	if now := s.View.Now().UnixMilli(); now > d.RenewBy {
		return ipc.Bearer{}, ipc.NewException(ipc.InvalidToken, "token (%s) is expired, current time: %d expected renewal time: %d",
			describe(id), now, d.RenewBy)
	}
	user, realUser := id.User()
	return ipc.Bearer{Password: d.Password, User: user, RealUser: realUser, Kind: token.KindDelegation, Identifier: id}, nil
}

func (s *Service) delegationToken(ctx context.Context, req *pb.GetDelegationTokenRequest) (*pb.GetDelegationTokenResponse, error) {
	call := ipc.CallFrom(ctx)
	if call.User == "" {
		return nil, ipc.NewException(ipc.AccessControlException, "a delegation token can't be given without a user name")
	}
	if err := s.Identity.ByTicket(call, "issued"); err != nil {
		return nil, err
	}
	owner, realUser := s.Identity.Of(call)
	t, err := s.NewDelegationToken(owner, realUser, req.GetRenewer())
	if err != nil {
		return nil, identity.AsYARN(err)
	}
	resp := &pb.GetDelegationTokenResponse{}
	resp.SetToken(t.PB())
	return resp, nil
}

func (s *Service) renewDelegationToken(ctx context.Context, req *pb.RenewDelegationTokenRequest) (*pb.RenewDelegationTokenResponse, error) {
	call := ipc.CallFrom(ctx)
	if err := s.Identity.ByTicket(call, "renewed"); err != nil {
		return nil, err
	}
	user, _ := s.Identity.Of(call)
	until, err := s.RenewDelegationToken(user, token.FromPB(req.GetToken()))
	if err != nil {
		return nil, identity.AsYARN(err)
	}
	resp := &pb.RenewDelegationTokenResponse{}
	resp.SetNewExpiryTime(uint64(until))
	return resp, nil
}

func (s *Service) cancelDelegationToken(ctx context.Context, req *pb.CancelDelegationTokenRequest) (*pb.CancelDelegationTokenResponse, error) {
	call := ipc.CallFrom(ctx)
	if err := s.Identity.ByTicket(call, "cancelled"); err != nil {
		return nil, err
	}
	user, _ := s.Identity.Of(call)
	return &pb.CancelDelegationTokenResponse{}, identity.AsYARN(s.CancelDelegationToken(user, token.FromPB(req.GetToken())))
}
