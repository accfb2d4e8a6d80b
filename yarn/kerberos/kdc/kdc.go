// Package kdc asks Kerberos's key distribution centres (KDCs) for tickets. gokrb5 makes and reads the messages; its own client takes answers of up to 4 GB, and panics over
// some, before it knows whether they are a KDC's.
package kdc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

const (
	// patience is how long one KDC may take for an answer.
	patience = 5 * time.Second
	// maxAnswer bounds an answer in bytes. A ticket of Active Directory's has up to 64 KiB of a user's groups.
	maxAnswer = 1 << 20
)

// ErrAway says that no KDC of a realm has answered.
var ErrAway = errors.New("no KDC answers")

// send sends a request to the KDCs of a realm, until one answers. An error of Kerberos's in the answer is a messages.KRBError.
func send(c *config.Config, realm string, request []byte) ([]byte, error) {
	over := []string{"tcp", "udp"}
	switch limit := c.LibDefaults.UDPPreferenceLimit; {
	case limit == 1:
		over = over[:1]
	case len(request) <= limit:
		slices.Reverse(over)
	}
	var failed []error
	for _, network := range over {
		answer, err := sendBy(network, c, realm, request)
		var refused messages.KRBError
		if err == nil || errors.As(err, &refused) && refused.ErrorCode != errorcode.KRB_ERR_RESPONSE_TOO_BIG {
			return answer, err
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("%w of the realm %s: %w", ErrAway, realm, errors.Join(failed...))
}

func sendBy(network string, c *config.Config, realm string, request []byte) ([]byte, error) {
	n, all, err := c.GetKDCs(realm, network == "tcp")
	if err != nil {
		return nil, err
	}
	var failed []string
	for i := 1; i <= n; i++ {
		answer, err := ask(network, all[i], request)
		if err == nil {
			return answer, refusal(answer)
		}
		failed = append(failed, fmt.Sprintf("%s by %s: %v", all[i], strings.ToUpper(network), err))
	}
	return nil, errors.New(strings.Join(failed, "; "))
}

// ask sends a request to one KDC.
func ask(network, addr string, request []byte) ([]byte, error) {
	nc, err := net.DialTimeout(network, addr, patience)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if network == "udp" {
		if _, err := nc.Write(request); err != nil {
			return nil, err
		}
		answer := make([]byte, 64<<10)
		got, err := nc.Read(answer)
		return answer[:got], err
	}
	if _, err := nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...)); err != nil { // RFC 4120 §7.2.2
		return nil, err
	}
	return readAnswer(nc)
}

// readAnswer reads an answer with its length before it.
func readAnswer(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxAnswer {
		return nil, fmt.Errorf("an answer of %d bytes, and the limit is %d", n, maxAnswer)
	}
	answer, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(answer) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return answer, err
}

// refusal returns the error that an answer is; nil if it is none.
func refusal(answer []byte) (err error) {
	defer noPanic(&err)
	var refused messages.KRBError
	if refused.Unmarshal(answer) == nil {
		return refused
	}
	return nil
}

// noPanic makes an error of a panic: some of gokrb5's decoders index what may not be there.
func noPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("malformed answer: %v", p)
	}
}
