package hdfsadapter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/hdfsadapter/access"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/token"
)

// Renews reports whether RenewToken and CancelToken support a token: those of NameNodes, and of the Key Management Server that the configuration names. It doesn't block.
func (a *Adapter) Renews(t token.Token) bool {
	if t.Kind == token.KindHDFS {
		return true
	}
	server, err := a.keyServer()
	return err == nil && server != nil && a.Secure() && server.Named(t)
}

// RenewToken renews a delegation token as this process's user, who must be its renewer. It returns when the token expires.
func (a *Adapter) RenewToken(ctx context.Context, t token.Token) (until time.Time, err error) {
	if t.Kind == token.KindKMS {
		server, who, err := a.ownKeyServer(t)
		if err != nil {
			return time.Time{}, err
		}
		return server.Renew(ctx, who, t)
	}
	nn, err := a.issuer(t)
	if err != nil {
		return time.Time{}, err
	}
	req := &pb.RenewDelegationTokenRequest{}
	req.SetToken(t.PB())
	resp, err := protocol.RenewHDFSToken.Call(ctx, nn, req)
	if err != nil {
		return time.Time{}, fmt.Errorf("renew a token of %s: %w", t.Service, err)
	}
	return time.UnixMilli(int64(resp.GetNewExpiryTime())), nil
}

// CancelToken cancels a delegation token.
func (a *Adapter) CancelToken(ctx context.Context, t token.Token) error {
	if t.Kind == token.KindKMS {
		server, who, err := a.ownKeyServer(t)
		if err != nil {
			return err
		}
		return server.Cancel(ctx, who, t)
	}
	nn, err := a.issuer(t)
	if err != nil {
		return err
	}
	req := &pb.CancelDelegationTokenRequest{}
	req.SetToken(t.PB())
	if _, err := protocol.CancelHDFSToken.Call(ctx, nn, req); err != nil {
		return fmt.Errorf("cancel a token of %s: %w", t.Service, err)
	}
	return nil
}

// issuer returns the NameNode, or the pair of them, that issued a token.
func (a *Adapter) issuer(t token.Token) (ipc.Invoker, error) {
	addrs, err := access.NameNodes(a.conf, strings.TrimPrefix(t.Service, access.HAService))
	if err != nil {
		return nil, fmt.Errorf("find the NameNode of a token: %w", err)
	}
	who, err := a.access.Identity(a.self, true, nil, addrs)
	if err != nil {
		return nil, err
	}
	return a.client.Failover(addrs, protocol.HDFSClient, who, ipc.RetryPolicy{
		MaxElapsed: 20 * time.Second, Base: 200 * time.Millisecond, Max: 5 * time.Second,
	}), nil
}

// TokensFor gets a delegation token of the default file system for a user, as the user's proxy, which this process may renew, and one of its Key Management
// Server if there is one: NameNode and server must let this process's account act for the user (hadoop.proxyuser.*, hadoop.kms.proxyuser.*). There are none on
// file systems without tokens. It fails if either gives none, as Hadoop's does.
func (a *Adapter) TokensFor(ctx context.Context, user string) ([]token.Token, error) {
	if a.deflt.Scheme != SchemeHDFS || !a.Secure() {
		return nil, nil
	}
	addrs, err := access.NameNodes(a.conf, a.deflt.Authority)
	if err != nil {
		return nil, err
	}
	who, err := a.access.Identity(a.self, true, nil, addrs)
	if err != nil {
		return nil, err
	}
	renewer := who.User
	who.User, who.RealUser = user, who.User
	nn := a.client.Failover(addrs, protocol.HDFSClient, who, ipc.RetryPolicy{MaxElapsed: 20 * time.Second, Base: 200 * time.Millisecond, Max: 5 * time.Second})
	t, ok, err := a.delegate(ctx, nn, renewer, a.deflt.Authority, addrs)
	if err != nil || !ok {
		return nil, err
	}
	keys, ok, err := a.keysFor(ctx, user, renewer)
	if err != nil {
		return nil, fmt.Errorf("a token of the Key Management Server: %w", err)
	}
	if !ok {
		return []token.Token{t}, nil
	}
	return []token.Token{t, keys}, nil
}

// delegate gets a token of NameNodes for the caller.
func (a *Adapter) delegate(ctx context.Context, nn ipc.Invoker, renewer, authority string, addrs []string) (t token.Token, ok bool, err error) {
	req := &pb.GetDelegationTokenRequest{}
	req.SetRenewer(renewer)
	resp, err := protocol.GetHDFSToken.Call(ctx, nn, req)
	if err != nil || !resp.HasToken() { // a NameNode without Kerberos has none
		return t, false, fromHDFS(err)
	}
	t = token.FromPB(resp.GetToken())
	t.Service = access.ServiceOf(ctx, authority, addrs, slices.Contains(a.conf.Strings("dfs.nameservices"), authority))
	return t, true, nil
}

// Delegate gets a delegation token of the NameNodes behind a name, which the renewer may renew. ok is false on file systems without tokens: those of this machine, and
// all without Kerberos.
func (f *FS) Delegate(ctx context.Context, name, renewer string) (t token.Token, ok bool, err error) {
	at, err := f.Locate(name)
	if err != nil || at.Scheme != SchemeHDFS || !f.a.Secure() {
		return t, false, err
	}
	st, err := f.store(at)
	if err != nil {
		return t, false, pathError("token", at, err)
	}
	s := st.(*hdfsStore)
	if t, ok, err = f.a.delegate(ctx, s.nn, renewer, at.Authority, s.addrs); err != nil {
		return t, false, pathError("token", at, err)
	}
	return t, ok, nil
}
