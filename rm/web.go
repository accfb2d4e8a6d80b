package rm

import (
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

func (r *ResourceManager) openWeb(o Options) error {
	if o.Web == nil {
		return nil
	}
	h, err := o.Web(r)
	if err != nil {
		return err
	}
	maxHeader := 65536
	if v, ok := r.conf.Get("hadoop.http.max.request.header.size"); ok {
		if maxHeader, err = strconv.Atoi(v); err != nil {
			return fmt.Errorf("hadoop.http.max.request.header.size: %w", err)
		}
	}
	r.web = &http.Server{
		Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ErrorLog: stdlog.New(debugLog{r.log.WithField("port", WebAddress)}, "", 0),
	}
	return nil
}

// debugLog takes what net/http has to say of connections that went wrong.
type debugLog struct{ *logrus.Entry }

func (l debugLog) Write(b []byte) (int, error) {
	l.Debug(strings.TrimSpace(string(b)))
	return len(b), nil
}

// webAddress is what goes into links: the configured host, and the port that is really listened on.
func (r *ResourceManager) webAddress() string {
	a, err := r.conf.RMAddress(WebAddress, r.id)
	if err != nil {
		return r.Addr(WebAddress).String()
	}
	a = r.conf.Connectable(a)
	if tcp, ok := r.Addr(WebAddress).(*net.TCPAddr); ok {
		a.Port = tcp.Port
	}
	return a.String()
}

// WebAddressOf is where the web port of a member is reached, host:port.
func (r *ResourceManager) WebAddressOf(id string) (string, error) {
	if id == r.id {
		return r.webAddress(), nil
	}
	a, err := r.conf.RMAddress(WebAddress, id)
	if err != nil {
		return "", err
	}
	return r.conf.Connectable(a).String(), nil
}
