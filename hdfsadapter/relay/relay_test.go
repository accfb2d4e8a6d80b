package relay

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
)

// nameNode answers getFileInfo, and refuses the rest.
type nameNode struct{ asked []string }

func (n *nameNode) Invoke(_ context.Context, m ipc.Method, req, resp proto.Message) error {
	b, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	asked := &pb.GetFileInfoRequest{}
	if m.Name != "getFileInfo" || proto.Unmarshal(b, asked) != nil {
		return &ipc.RemoteError{Class: "org.apache.hadoop.security.AccessControlException", Text: "no " + m.Name, Method: m.Name}
	}
	n.asked = append(n.asked, asked.GetSrc())
	p := &pb.FsPermission{}
	p.SetPerm(0o640)
	st := &pb.HdfsFileStatus{}
	st.SetFileType(pb.HdfsFileStatus_IS_FILE)
	st.SetPath([]byte("x"))
	st.SetLength(5)
	st.SetPermission(p)
	st.SetOwner("alice")
	st.SetGroup("users")
	st.SetModificationTime(1)
	st.SetAccessTime(1)
	info := &pb.GetFileInfoResponse{}
	info.SetFs(st)
	if b, err = proto.Marshal(info); err != nil {
		return err
	}
	return proto.Unmarshal(b, resp)
}

// The library calls an Invoker, and sees its answers and its refusals.
func TestTheLibraryCallsThroughARelay(t *testing.T) {
	nn := &nameNode{}
	var seen []string
	c, err := hdfs.NewClient(hdfs.ClientOptions{
		Addresses: []string{"nn:1"}, User: "alice",
		NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
			return New(t.Context(), nn, func(method string, answer []byte) []byte {
				seen = append(seen, method)
				return answer
			}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	i, err := c.Stat("/data/x")
	if err != nil || i.Size() != 5 || strings.Join(nn.asked, " ") != "/data/x" || len(seen) != 1 {
		t.Errorf("%v, %v; asked for %v, seen %v", i, err, nn.asked, seen)
	}
	if err := c.Remove("/data/x"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a refusal: %v", err)
	}
}

// FuzzConn sends whatever bytes as the library: nothing ends in a panic.
func FuzzConn(f *testing.F) {
	f.Add([]byte("hrpc\x09\x00\x00"), []byte{0, 0, 0, 3, 1, 2, 3})
	f.Add([]byte("hrpc\x09\x00\x00"), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := New(t.Context(), &nameNode{}, nil)
		for _, b := range [][]byte{first, second} {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
		_, _ = c.Read(make([]byte, 100))
		_ = c.Close()
	})
}
