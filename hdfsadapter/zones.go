package hdfsadapter

import (
	"context"
	"errors"
	"fmt"

	"heddle/conf"
	"heddle/hdfsadapter/zone"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/token"
)

const keyProvider = "hadoop.security.key.provider.path"

// cipher returns the cipher of a file; nil if it lies in no encryption zone.
func (s *hdfsStore) cipher(ctx context.Context, st *pb.HdfsFileStatus) (*zone.Cipher, error) {
	if !st.HasFileEncryptionInfo() {
		return nil, nil
	}
	c, err := s.fileCipher(ctx, st.GetFileEncryptionInfo())
	if err != nil {
		return nil, fmt.Errorf("it lies in an encryption zone: %w", fromHDFS(err))
	}
	return c, nil
}

func (s *hdfsStore) fileCipher(ctx context.Context, info *pb.FileEncryptionInfo) (*zone.Cipher, error) {
	server, err := s.keyServer(ctx)
	if err != nil {
		return nil, err
	}
	if server == nil {
		return nil, fmt.Errorf("neither the NameNode nor %s says where its Key Management Server is", keyProvider)
	}
	who, err := s.a.asks(s.user, s.own, s.tokens, server)
	if err != nil {
		return nil, err
	}
	return server.FileCipher(ctx, who, info)
}

// keyServer returns the Key Management Server of the file system: the NameNode's, or else that of the configuration; nil without one. Hadoop's clients also take one that a job's
// credentials name; a node would send requests to where users say.
func (s *hdfsStore) keyServer(ctx context.Context) (*zone.Server, error) {
	uri := ""
	if !s.a.conf.Bool("dfs.client.ignore.namenode.default.kms.uri") {
		resp, err := protocol.GetServerDefaults.Call(ctx, s.nn, &pb.GetServerDefaultsRequest{})
		if err != nil {
			return nil, err
		}
		uri = resp.GetServerDefaults().GetKeyProviderUri()
	}
	if uri != "" {
		return zone.Parse(uri)
	}
	return s.a.keyServer()
}

// keyServer returns the Key Management Server of the configuration; nil without one.
func (a *Adapter) keyServer() (*zone.Server, error) {
	uri := a.conf.Text(keyProvider)
	if uri == "" {
		return nil, nil
	}
	server, err := zone.Parse(uri)
	if err != nil {
		return nil, conf.ErrorAt(a.conf, keyProvider, err)
	}
	return server, nil
}

// asks returns by what a user asks a Key Management Server.
func (a *Adapter) asks(user string, own bool, tokens []token.Token, server *zone.Server) (zone.Caller, error) {
	web, err := a.web()
	if err != nil {
		return zone.Caller{}, err
	}
	return a.access.KeyServer(user, own, tokens, server, web)
}

// DelegateKeys gets a delegation token of the Key Management Server behind a name, which the renewer may renew. ok is false where there is none, and without Kerberos.
func (f *FS) DelegateKeys(ctx context.Context, name, renewer string) (t token.Token, ok bool, err error) {
	at, err := f.Locate(name)
	if err != nil || at.Scheme != SchemeHDFS || !f.a.Secure() {
		return t, false, err
	}
	st, err := f.store(at)
	if err != nil {
		return t, false, pathError("token", at, err)
	}
	s := st.(*hdfsStore)
	server, err := s.keyServer(ctx)
	if err != nil || server == nil {
		return t, false, pathError("token", at, err)
	}
	who, err := f.a.asks(s.user, s.own, s.tokens, server)
	if err == nil {
		t, err = server.Delegate(ctx, who, renewer)
	}
	return t, err == nil, pathError("token", at, fromHDFS(err))
}

// keysFor gets a delegation token of the default file system's Key Management Server for a user, as the user's proxy. ok is false where there is none.
func (a *Adapter) keysFor(ctx context.Context, user, renewer string) (t token.Token, ok bool, err error) {
	st, err := a.As("").store(a.deflt)
	if err != nil {
		return t, false, err
	}
	server, err := st.(*hdfsStore).keyServer(ctx)
	if err != nil || server == nil {
		return t, false, fromHDFS(err)
	}
	who, err := a.asks(a.self, true, nil, server)
	if err != nil {
		return t, false, err
	}
	who.For = user
	t, err = server.Delegate(ctx, who, renewer)
	return t, err == nil, err
}

// ownKeyServer returns the Key Management Server of the configuration, and this process's own calls of it.
func (a *Adapter) ownKeyServer(t token.Token) (server *zone.Server, who zone.Caller, err error) {
	if server, err = a.keyServer(); err != nil {
		return nil, who, err
	}
	if server == nil || !server.Issued(t) {
		return nil, who, errors.New("the token is of another Key Management Server than " + keyProvider + " says")
	}
	who, err = a.asks(a.self, true, nil, server)
	return server, who, err
}
