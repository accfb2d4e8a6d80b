package zone

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"heddle/internal/bounded"
	"heddle/internal/plain"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

const (
	maxAnswer = 64 << 10 // bytes of an answer
	maxWords  = 500      // bytes of a refusal that are shown
	maxHosts  = 32
	patience  = time.Minute // for one server; Hadoop: hadoop.security.kms.client.timeout
)

// Server is a Key Management Server: one that several hosts provide, or only one.
type Server struct {
	uri   string
	hosts []string // host:port
	bases []string // addresses of the REST API, in the order of the hosts
}

// Parse reads the address of a server as hadoop.security.key.provider.path has it: kms://http@host1;host2:9600/kms.
func Parse(uri string) (*Server, error) {
	bad := func(why string) error {
		return fmt.Errorf("key provider %q: %s; Heddle reads keys of encryption zones from a Key Management Server, such as kms://https@kms.example.com:9600/kms", uri, why)
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, bad("it is no URI")
	case u.Scheme != "kms":
		return nil, bad("its scheme isn't kms")
	case u.User.Username() != "http" && u.User.Username() != "https":
		return nil, bad("it must say http@ or https@")
	case u.Port() == "":
		return nil, bad("it names no port")
	}
	names := strings.Split(strings.TrimSuffix(u.Host, ":"+u.Port()), ";")
	if len(names) > maxHosts || slices.Contains(names, "") {
		return nil, bad(fmt.Sprintf("it must name 1 to %d hosts", maxHosts))
	}
	s := &Server{uri: uri}
	for _, name := range names {
		at := name + ":" + u.Port()
		s.hosts = append(s.hosts, at)
		s.bases = append(s.bases, u.User.Username()+"://"+at+strings.TrimSuffix(u.Path, "/")+"/v1/")
	}
	return s, nil
}

// String returns the server's address as it was read. It is also the service of its tokens.
func (s *Server) String() string { return s.uri }

// Issued reports whether a token says that it is from this server: by the server's address, or, from older clients, by a host's.
func (s *Server) Issued(t token.Token) bool {
	return s.Named(t) || t.Kind == token.KindKMS && s.at(t.Service)
}

// Named is Issued without a look at the name service: it doesn't block, and doesn't know IP addresses.
func (s *Server) Named(t token.Token) bool {
	return t.Kind == token.KindKMS && (t.Service == s.uri || slices.Contains(s.hosts, t.Service))
}

// at reports whether a service is the IP address and port of one of the hosts.
func (s *Server) at(service string) bool {
	ip, port, err := net.SplitHostPort(service)
	if err != nil || net.ParseIP(ip) == nil {
		return false
	}
	return slices.ContainsFunc(s.hosts, func(addr string) bool {
		host, p, err := net.SplitHostPort(addr)
		if err != nil || p != port {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		return err == nil && slices.Contains(found, ip)
	})
}

// Caller proves to a server who asks.
type Caller struct {
	Web   http.RoundTripper // sends requests; it has the tickets of calls without a token
	Token *token.Token
	User  string // who asks a server without Kerberos; "" with it
	For   string // whom the caller acts for (doAs); "" is the caller itself
}

// FileCipher asks for the key of a file, and returns its cipher.
func (s *Server) FileCipher(ctx context.Context, who Caller, info *pb.FileEncryptionInfo) (*Cipher, error) {
	if err := known(info); err != nil {
		return nil, err
	}
	ask, err := json.Marshal(map[string]string{
		"name": info.GetKeyName(), "iv": base64.RawURLEncoding.EncodeToString(info.GetIv()), "material": base64.RawURLEncoding.EncodeToString(info.GetKey()),
	})
	if err != nil {
		return nil, err
	}
	body, err := s.call(ctx, who, http.MethodPost, "keyversion/"+url.PathEscape(info.GetEzKeyVersionName())+"/_eek", url.Values{"eek_op": {"decrypt"}}, ask)
	if err != nil {
		return nil, fmt.Errorf("get the file's key, which zone key %q encrypts: %w", plain.Text(info.GetKeyName()), err)
	}
	key, err := material(body)
	if err != nil {
		return nil, err
	}
	return NewCipher(info, key)
}

// material reads a key out of an answer. Its error doesn't show it.
func material(answer []byte) ([]byte, error) {
	var a struct{ Material string }
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, errors.New("the Key Management Server's answer is no key")
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(a.Material))
	if err != nil || len(key) == 0 {
		return nil, errors.New("the Key Management Server's answer has no key")
	}
	return key, nil
}

// Delegate gets a token for the caller, which the renewer may renew.
func (s *Server) Delegate(ctx context.Context, who Caller, renewer string) (token.Token, error) {
	body, err := s.call(ctx, who, http.MethodGet, "", url.Values{"op": {"GETDELEGATIONTOKEN"}, "renewer": {renewer}}, nil)
	if err != nil {
		return token.Token{}, fmt.Errorf("get a token: %w", err)
	}
	var a struct{ Token struct{ URLString string } }
	if err := json.Unmarshal(body, &a); err != nil || a.Token.URLString == "" {
		return token.Token{}, fmt.Errorf("get a token: %s gives none", s)
	}
	t, err := token.ParseURLString(a.Token.URLString)
	if err != nil {
		return token.Token{}, fmt.Errorf("get a token: %w", err)
	}
	t.Kind, t.Service = token.KindKMS, s.uri
	return t, nil
}

// Renew renews a token as the caller, and returns until when it is good. A refusal is an *ipc.RemoteError.
func (s *Server) Renew(ctx context.Context, who Caller, t token.Token) (time.Time, error) {
	body, err := s.call(ctx, who, http.MethodPut, "", url.Values{"op": {"RENEWDELEGATIONTOKEN"}, "token": {t.URLString()}}, nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("renew a token of %s: %w", s, err)
	}
	var a struct{ Long int64 }
	if err := json.Unmarshal(body, &a); err != nil || a.Long <= 0 {
		return time.Time{}, fmt.Errorf("renew a token: %s doesn't say until when it is good", s)
	}
	return time.UnixMilli(a.Long), nil
}

// Cancel cancels a token.
func (s *Server) Cancel(ctx context.Context, who Caller, t token.Token) error {
	if _, err := s.call(ctx, who, http.MethodPut, "", url.Values{"op": {"CANCELDELEGATIONTOKEN"}, "token": {t.URLString()}}, nil); err != nil {
		return fmt.Errorf("cancel a token of %s: %w", s, err)
	}
	return nil
}

// call sends a request to one host after the other until one answers it.
func (s *Server) call(ctx context.Context, who Caller, method, path string, query url.Values, body []byte) (answer []byte, err error) {
	if who.Token == nil && who.User != "" {
		query.Set("user.name", who.User)
	}
	if who.For != "" {
		query.Set("doAs", who.For)
	}
	var failures []error
	for _, base := range s.bases {
		answer, err = s.ask(ctx, who, method, base+path+"?"+query.Encode(), body)
		var refused *ipc.RemoteError
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return answer, err
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// ask sends a request. What the server refuses for good is an *ipc.RemoteError.
func (s *Server) ask(ctx context.Context, who Caller, method, addr string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, addr, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request isn't valid")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if who.Token != nil {
		req.Header.Set("X-Hadoop-Delegation-Token", who.Token.URLString())
	}
	client := http.Client{Transport: who.Web, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the address may have a token
		}
		return nil, fmt.Errorf("the Key Management Server at %s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	answer, err := bounded.ReadSome(resp.Body, maxAnswer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the Key Management Server at %s: %w", req.URL.Host, err)
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		class, text := words(answer)
		return nil, &ipc.RemoteError{Class: class, Text: fmt.Sprintf("the Key Management Server answers %s: %s", resp.Status, text), Addr: req.URL.Host}
	case resp.StatusCode != http.StatusOK:
		_, text := words(answer)
		return nil, fmt.Errorf("the Key Management Server at %s answers %s: %s", req.URL.Host, resp.Status, text)
	}
	return answer, nil
}

// words returns what a server says of a refusal.
func words(answer []byte) (class, text string) {
	var a struct {
		RemoteException struct{ JavaClassName, Message string }
	}
	class, text = ipc.AccessControlException, string(answer)
	if err := json.Unmarshal(answer, &a); err == nil && a.RemoteException.Message != "" {
		class, text = a.RemoteException.JavaClassName, a.RemoteException.Message
	}
	return class, plain.Text(strings.ToValidUTF8(text[:min(len(text), maxWords)], ""))
}
