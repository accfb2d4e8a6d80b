package timelineservice

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/token"
)

// Renews reports whether the server of version 1 issues tokens of a token's kind (Hadoop: TimelineDelegationTokenIdentifier.Renewer).
func (all *Publishers) Renews(t token.Token) bool {
	return all.server != nil && t.Kind == token.KindTimeline
}

// RenewToken renews a token that the timeline server has issued to a client, and returns until when it is good. The token's own address is not followed: users
// write it. A refusal is an *ipc.RemoteError.
func (all *Publishers) RenewToken(ctx context.Context, t token.Token) (time.Time, error) {
	body, err := all.server.about(ctx, "RENEWDELEGATIONTOKEN", t)
	if err != nil {
		return time.Time{}, fmt.Errorf("renew a token of the timeline server: %w", err)
	}
	return expiry(body)
}

// CancelToken cancels such a token.
func (all *Publishers) CancelToken(ctx context.Context, t token.Token) error {
	if _, err := all.server.about(ctx, "CANCELDELEGATIONTOKEN", t); err != nil {
		return fmt.Errorf("cancel a token of the timeline server: %w", err)
	}
	return nil
}

// expiry reads until when a renewed token is good (Hadoop: DelegationTokenAuthenticator), ms since 1970.
func expiry(answer []byte) (time.Time, error) {
	var a struct{ Long int64 }
	if err := json.Unmarshal(answer, &a); err != nil || a.Long <= 0 {
		return time.Time{}, fmt.Errorf("the timeline server doesn't say until when the token is good: %.100q", answer)
	}
	return time.UnixMilli(a.Long), nil
}

// about asks the server to do something with a token.
func (p *server) about(ctx context.Context, op string, t token.Token) ([]byte, error) {
	at, err := url.Parse(p.post)
	if err != nil {
		return nil, err
	}
	q := at.Query()
	q.Set("op", op)
	q.Set("token", t.URLString())
	at.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, at.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, withoutToken(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, withoutToken(err)
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return nil, &ipc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken", Text: strings.ToValidUTF8(string(body[:min(len(body), 500)]), ""), Addr: at.Host}
	case resp.StatusCode != http.StatusOK:
		return nil, &refusedError{resp.StatusCode, strings.ToValidUTF8(string(body[:min(len(body), 500)]), "")}
	}
	return body, nil
}

// withoutToken returns an error of a call without its address, which has the token.
func withoutToken(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}
