package ipc

import (
	"errors"
	"io"
	"net"
	"testing"

	"heddle/internal/light"
)

// A server that ends a connection says so at once, and still reads what the client sends.
func TestTheSendingSideEndsByItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server := &serverConn{nc: countedConn{light.Conn(accepted), new(activity)}}
	end, ok := server.nc.(interface{ CloseWrite() error })
	if !ok {
		t.Fatalf("%T can't end its sending side", server.nc)
	}
	if err := end.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v", err)
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := server.nc.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
