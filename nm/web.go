package nm

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// webServer serves the node's REST API and pages.
type webServer struct{ http.Server }

func (n *NodeManager) web() *webServer {
	return &webServer{http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: 30 * time.Second}}
}

func (w *webServer) serve(l net.Listener) error {
	if err := w.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (w *webServer) close() { w.Close() }
