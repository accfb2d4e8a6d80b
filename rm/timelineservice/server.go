package timelineservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/rm/ledger"
)

// maxAnswer bounds what a server may answer, bytes.
const maxAnswer = 1 << 20

// server is a timeline server of version 1 or 1.5.
type server struct {
	client *http.Client
	post   string // takes entities
	log    *logrus.Entry
}

// first encodes an entity for version 1.
func (s *Settings) first(e entity, _ *ledger.State) ([]byte, error) {
	if e.task && !s.all {
		return nil, nil
	}
	return e.encode()
}

// refusedError is an answer that isn't a success.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("it answers %d (%s): %s", e.status, http.StatusText(e.status), e.text)
}

// refusal reports whether an error of send is the service's answer, and if so, whether the same may succeed later.
func refusal(err error) (again, refused bool) {
	var byServer *refusedError
	if errors.As(err, &byServer) {
		return byServer.again(), true
	}
	var byStorage *jvm.Refused
	return true, errors.As(err, &byStorage)
}

// again reports whether the same call may succeed later.
func (e *refusedError) again() bool { return e.status >= 500 || e.status == http.StatusTooManyRequests }

// send makes one call.
func (p *server) send(ctx context.Context, batch [][]byte) (sent int, err error) {
	body := append(append([]byte(`{"entities":[`), bytes.Join(batch, []byte{','})...), `]}`...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.post, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, &refusedError{resp.StatusCode, strings.ToValidUTF8(string(answer[:min(len(answer), 500)]), "")}
	}
	if first, n := refusals(answer); n > 0 {
		p.log.Warnf("the timeline server has not stored %d of %d entities, such as %s", n, len(batch), first)
	}
	return len(batch), nil
}

// refusals returns how many entities the server has not stored by its answer (Hadoop: TimelinePutResponse), and the first one with the error's number.
func refusals(answer []byte) (first string, n int) {
	var a struct {
		Errors []struct {
			Entity    string
			ErrorCode int
		}
	}
	if json.Unmarshal(answer, &a) != nil || len(a.Errors) == 0 {
		return "", 0
	}
	return fmt.Sprintf("%.100q (error %d)", a.Errors[0].Entity, a.Errors[0].ErrorCode), len(a.Errors)
}
