package relay

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"

	"heddle/yarn/pb"
)

const (
	// confirmFor bounds how long DataNodes may take to report their blocks to the NameNode.
	confirmFor = time.Minute
	// maxAnswer bounds a NameNode's answer to a writer, in bytes. Usual ones have a few kilobytes.
	maxAnswer = 64 << 20

	notReplicatedYet = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
)

// Dialer connects to an address.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Patient makes the library's connections to NameNodes repeat calls whose answer is "not yet": addBlock, until
// DataNodes have confirmed the last block but one, and complete, until they have confirmed the last two. The library
// gives up at the former. At the latter it asks its caller to repeat the call, but then no longer names the last block,
// so that the file never becomes complete. Hadoop's client repeats both calls unchanged (DFSOutputStream.addBlock,
// completeFile).
func Patient(ctx context.Context, dial Dialer) Dialer {
	return func(c context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(c, network, addr)
		if err != nil {
			return nil, err
		}
		return &patientConn{Conn: conn, ctx: ctx}, nil
	}
}

// patientConn relies on the library's behaviour: a call is one Write, and there is one at a time.
type patientConn struct {
	net.Conn
	ctx    context.Context
	call   []byte // the last one
	answer []byte // the unread rest of its answer
}

func (c *patientConn) Write(p []byte) (int, error) {
	c.call, c.answer = append(c.call[:0], p...), nil
	return c.Conn.Write(p)
}

func (c *patientConn) Read(p []byte) (int, error) {
	if len(c.answer) == 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// receive reads an answer, and repeats the call as long as the answer is "not yet".
func (c *patientConn) receive() error {
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		answer, err := readAnswer(c.Conn)
		if err != nil {
			return err
		}
		if !notYet(c.call, answer) || time.Since(began) > confirmFor {
			c.answer = answer
			return nil
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-c.ctx.Done():
			wait.Stop()
			return context.Cause(c.ctx)
		}
		if _, err := c.Conn.Write(c.call); err != nil {
			return err
		}
	}
}

// readAnswer reads an answer, with the four bytes of its length.
func readAnswer(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > maxAnswer {
		return nil, fmt.Errorf("the NameNode's answer has %d bytes, over %d", n, maxAnswer)
	}
	answer := append(head, make([]byte, n)...)
	_, err := io.ReadFull(r, answer[len(head):])
	return answer, err
}

// notYet reports whether an answer asks to repeat the call. The library judges answers that can't be read here.
func notYet(call, answer []byte) bool {
	if len(call) < 4 || len(answer) < 4 {
		return false
	}
	said := bytes.NewReader(answer[4:])
	head := &pb.RpcResponseHeader{}
	if protodelim.UnmarshalFrom(said, head) != nil {
		return false
	}
	if head.GetStatus() != pb.RpcResponseHeader_SUCCESS {
		return head.GetExceptionClassName() == notReplicatedYet
	}
	asked := bytes.NewReader(call[4:])
	method, result := &pb.RequestHeader{}, &pb.CompleteResponse{}
	return protodelim.UnmarshalFrom(asked, &pb.RpcRequestHeader{}) == nil && protodelim.UnmarshalFrom(asked, method) == nil &&
		method.GetMethodName() == "complete" && protodelim.UnmarshalFrom(said, result) == nil && !result.GetResult()
}
