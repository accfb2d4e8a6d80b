package hdfsadapter

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/encoding/protodelim"

	"heddle/hdfsadapter/block"
	"heddle/yarn/pb"
)

func located(size int) *pb.LocatedBlock {
	e := &pb.ExtendedBlock{}
	e.SetPoolId("BP-1")
	e.SetBlockId(7)
	e.SetGenerationStamp(1)
	e.SetNumBytes(uint64(size))
	tok := &pb.Token{}
	tok.SetIdentifier([]byte{})
	tok.SetPassword([]byte{})
	tok.SetKind("")
	tok.SetService("")
	b := &pb.LocatedBlock{}
	b.SetB(e)
	b.SetOffset(0)
	b.SetCorrupt(false)
	b.SetBlockToken(tok)
	return b
}

// answerOnce takes a request for a block of ten bytes, admits it, and says nothing more.
func answerOnce(c net.Conn) {
	sums := &pb.Checksum{}
	sums.SetType(pb.ChecksumType_CHECKSUM_CRC32C)
	sums.SetBytesPerChecksum(512)
	info := &pb.ReadOpChecksumInfo{}
	info.SetChecksum(sums)
	info.SetChunkOffset(0)
	resp := &pb.BlockOpResponse{}
	resp.SetStatus(pb.Status_STATUS_SUCCESS)
	resp.SetReadOpChecksumInfo(info)
	_, _ = c.Read(make([]byte, 1<<10))
	_, _ = protodelim.MarshalTo(c, resp)
}

// A reader that gives up says nothing against a DataNode, unless that has kept it waiting: then others are asked first from then on.
func TestWhoGivesUpBlamesNoDataNode(t *testing.T) {
	for after, bad := range map[time.Duration]bool{hangsAfter / 2: false, 2 * hangsAfter: true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			conn, silent := net.Pipe()
			defer silent.Close()
			c := block.New(conn, "dn:1", time.Hour)
			go answerOnce(silent)
			if err := c.Request(located(10), "me", 0, 10); err != nil {
				t.Error(err)
				return
			}
			c.Unhook = context.AfterFunc(ctx, func() { _ = conn.Close() })
			a := &Adapter{options: Options{Log: logrus.NewEntry(logrus.New())}, data: newDataNodes(true, 0)}
			a.options.Log.Logger.SetOutput(io.Discard)
			r := &hdfsReader{
				s: &hdfsStore{a: a}, path: "/a", ctx: ctx, info: Info{Size: 10}, tried: map[replica]bool{},
				blocks: []*pb.LocatedBlock{located(10)}, idle: []*stream{{conn: c}},
			}
			time.AfterFunc(after, func() { cancel(context.Canceled) })
			if _, err := r.Read(make([]byte, 10)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, blamed := a.data.bad["dn:1"]; blamed != bad {
				t.Errorf("after %v: blamed %t", after, blamed)
			}
		})
	}
}
