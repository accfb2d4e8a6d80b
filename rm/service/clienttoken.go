package service

import (
	"context"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// A client-to-AM token tells an ApplicationMaster which user calls. The ResourceManager makes it for callers who ask for a report
// and may see the application; the ApplicationMaster, which got the key when it registered, checks it (am/client.ClientSecrets).

// clientKey returns the key of one attempt. It follows from a master key that the ledger has, so that every leader finds the same, and
// no attempt can find that of another.
func clientKey(l *leader.Leader, id records.AttemptID) *token.MasterKey {
	master := l.Keys(ledgerpb.KeyKind_CLIENT_TO_AM).Current
	return token.NewMasterKey(0, token.NewMasterKey(master.ID, master.Secret).Sign([]byte(id.String())))
}

// reportTo returns the application's report with the caller's client-to-AM token; the service field is left to the caller.
func (s *Service) reportTo(ctx context.Context, a *view.App) *pb.ApplicationReport {
	r := s.appReport(a)
	user, _ := s.Identity.Of(ipc.CallFrom(ctx))
	l := s.Backend.Leader()
	if !s.ClientTokens || a.Hidden || user == "" || l == nil || l.Keys(ledgerpb.KeyKind_CLIENT_TO_AM).Current.Secret == nil ||
		!s.attemptRuns(a.Attempt) {
		return r
	}
	id := token.ClientToAM{Attempt: a.Attempt, Client: user}
	r.SetClientToAmToken(clientKey(l, a.Attempt).Mint(token.KindClientToAM, "", id.Encode()).PB())
	return r
}

// attemptRuns reports whether an attempt's ApplicationMaster was started and has not ended.
func (s *Service) attemptRuns(id records.AttemptID) (ok bool) {
	s.Backend.Read(func(st *ledger.State) {
		t := st.Attempt(id)
		ok = t != nil && t.State >= ledger.AttemptLaunched && !t.State.Ended()
	})
	return ok
}
