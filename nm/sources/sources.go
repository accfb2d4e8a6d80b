// Package sources reads files of containers from file systems besides HDFS and this machine's: http and https, WebHDFS, ViewFS (which
// leads to others by a mount table) and Hadoop archives (har). Each is a localizer.Source.
//
// Files of other schemes, such as s3a, are read by Java: Others of All.
package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/user"
	"time"

	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/nm/localizer"
)

// Options configure the sources.
type Options struct {
	Conf *conf.Config
	// Usual reads HDFS, this machine's file systems, and locations without a scheme.
	Usual localizer.Source
	// Others reads all other schemes; nil: they are refused.
	Others localizer.Source
	// Client makes requests; nil: one that gives up servers which don't answer within a minute.
	Client *http.Client
	// Trust is whom swebhdfs trusts; nil: the machine's authorities, as https does.
	Trust *ssl.Trust
}

// All returns the sources of a node by scheme.
func All(o Options) localizer.Sources {
	client := o.Client
	if client == nil {
		client = &http.Client{Transport: transport(), CheckRedirect: sameScheme}
	}
	trusting := client
	if o.Trust != nil {
		next := transport()
		o.Trust.Use(next)
		trusting = &http.Client{Transport: next, CheckRedirect: sameScheme}
	}
	all := localizer.Sources{}
	for _, scheme := range []string{"", "file", "hdfs"} {
		all[scheme] = o.Usual
	}
	web := Web{Client: client}
	all["http"], all["https"] = web, web
	self := ""
	if me, err := user.Current(); err == nil {
		self = me.Username
	}
	all["webhdfs"] = WebHDFS{Client: client, Conf: o.Conf, Self: self}
	all["swebhdfs"] = WebHDFS{Client: trusting, Conf: o.Conf, Self: self, TLS: true}
	all["viewfs"] = ViewFS{Conf: o.Conf, Below: all}
	all["har"] = &Archives{Below: all}
	if o.Others != nil {
		all[localizer.AnyScheme] = o.Others
	}
	return all
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute, TLSHandshakeTimeout: 20 * time.Second,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
	}
}

// missing returns the error of a file that isn't there.
func missing(at localizer.Location) error {
	return fmt.Errorf("%s: %w", at, fs.ErrNotExist)
}

// statusError returns the error of an answer that isn't a success.
func statusError(at localizer.Location, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return missing(at)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s: %s: %w", at, resp.Status, fs.ErrPermission)
	}
	return fmt.Errorf("%s: the server answers %s", at, resp.Status)
}

var errNoList = errors.New("a web server's folders can't be listed")
