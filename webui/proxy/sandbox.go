package proxy

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pages of applications are other people's programs, and here they share the origin of the cluster's own pages and API.
// So the proxy makes browsers give them an origin of their own, which may do nothing with ours. Three things still
// work: their scripts ask the application through the proxy (sharing), they keep settings while the page lives (shim),
// and links can be followed.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads allow-modals allow-top-navigation-by-user-activation"

// shim goes into each page. It replaces the storage that a browser denies to a page without an origin. Without storage
// jQuery's DataTables fail, which MapReduce's and Spark's pages use. It also adds the pass to requests for the
// application, which says from which page they come, and actPass to links and forms that act when
// they are used.
const shim = `<script>(function(pass,base,act){["localStorage","sessionStorage"].forEach(function(n){try{window[n].length}catch(e){var m=new Map();` +
	`var s={getItem:function(k){k=String(k);return m.has(k)?m.get(k):null},setItem:function(k,v){m.set(String(k),String(v))},` +
	`removeItem:function(k){m.delete(String(k))},clear:function(){m.clear()},key:function(i){var k=Array.from(m.keys())[i];return k===undefined?null:k},` +
	`get length(){return m.size}};Object.defineProperty(window,n,{value:s,configurable:true})}});` +
	`try{document.cookie}catch(e){Object.defineProperty(document,"cookie",{get:function(){return ""},set:function(){},configurable:true})}` +
	`base=location.protocol+"//"+location.host+base+"/";function own(u){try{return new URL(u,document.baseURI).href.indexOf(base)===0}catch(e){return false}}` +
	`var open=XMLHttpRequest.prototype.open;XMLHttpRequest.prototype.open=function(m,u){var r=open.apply(this,arguments);if(own(u))this.setRequestHeader("` + passHeader + `",pass);return r};` +
	`var f=window.fetch;window.fetch=function(i,n){if(!own(i instanceof Request?i.url:i))return f.apply(this,arguments);var r=new Request(i,n);r.headers.set("` + passHeader + `",pass);return f.call(window,r)}` +
	`;var acts=/(^|\/)(ACTIONS)(;[^\/]*)?(\/|$)/i;document.addEventListener("click",function(e){var a=e.target instanceof Element&&e.target.closest("a[href]");` +
	`if(!a||!own(a.href))return;var u=new URL(a.href,document.baseURI);if(acts.test(u.pathname)){u.searchParams.set("` + actPass + `",act);a.href=u.href}},true);` +
	`function mark(f,b){var to=(b&&b.getAttribute("formaction"))||f.getAttribute("action")||"";` +
	`if(!own(to)||!acts.test(new URL(to,document.baseURI).pathname))return;var i=f.querySelector("input[name=` + actPass + `]");` +
	`if(!i){i=document.createElement("input");i.type="hidden";i.name="` + actPass + `";f.appendChild(i)}i.value=act}` +
	`document.addEventListener("submit",function(e){mark(e.target,e.submitter)},true);` +
	`var submit=HTMLFormElement.prototype.submit;HTMLFormElement.prototype.submit=function(){mark(this);return submit.call(this)};` +
	`})("PASS","BASE","ACT")</script>`

// passHeader carries the pass: proof that a request comes from a page of the application, and for which user the page
// was made. No other can read the pass off the page. So cookies, which other pages' requests carry too, aren't
// needed.
const passHeader = "X-Heddle-Page"

// passLife is how long a page's pass is valid.
const passLife = 24 * time.Hour

// passFor returns the pass of a page of an application that was made for a user.
func (p *Proxy) passFor(own, user string, until time.Time) string {
	name, end := base64.RawURLEncoding.EncodeToString([]byte(user)), strconv.FormatInt(until.Unix(), 10)
	m := hmac.New(sha256.New, p.key)
	_, _ = io.WriteString(m, own+" "+name+" "+end) // a hash doesn't fail
	return name + "." + end + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// passOf returns the user of the page that sends a request. ok is false without a valid pass.
func (p *Proxy) passOf(r *http.Request, own string) (user string, ok bool) {
	return p.checkPass(r.Header.Get(passHeader), own)
}

// checkPass returns the user of a pass.
func (p *Proxy) checkPass(given, own string) (user string, ok bool) {
	parts := strings.Split(given, ".")
	if len(parts) != 3 {
		return "", false
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return "", false
	}
	end, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || time.Now().Unix() > end {
		return "", false
	}
	if !hmac.Equal([]byte(given), []byte(p.passFor(own, string(name), time.Unix(end, 0)))) {
		return "", false
	}
	return string(name), true
}

// confine adds the header that puts a page into the sandbox.
func confine(h http.Header) { h.Add("Content-Security-Policy", sandbox) }

// sharing lets the pages of an application read its answers: those to a request with their pass, and those for a
// script, style or font, which any page may use anyway.
func (p *Proxy) sharing(h http.Header, r *http.Request, own string) {
	if r.Header.Get("Origin") != "null" {
		return
	}
	h.Add("Vary", "Origin")
	_, ok := p.passOf(r, own)
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "script", "style", "font":
		ok = true
	}
	if ok {
		h.Set("Access-Control-Allow-Origin", "null")
	}
}

// mayAsk answers a browser's question whether a page may send a request with headers of its own, such as the pass.
func mayAsk(h http.Header, r *http.Request) {
	if r.Header.Get("Origin") != "null" {
		return
	}
	h.Set("Access-Control-Allow-Origin", "null")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "Accept, Content-Type, X-Requested-With, "+passHeader)
}

// isPage reports whether an answer is a page that can take the shim.
func isPage(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "text/html" && (h.Get("Content-Encoding") == "" || h.Get("Content-Encoding") == "identity")
}

// withShim inserts the shim into a page, after its document type.
func withShim(page io.Reader, pass, act, own string) io.Reader {
	first := make([]byte, 1024)
	n, err := 0, error(nil)
	for n < len("<!doctype html>") && err == nil {
		var more int
		more, err = page.Read(first[n:])
		n += more
	}
	first = first[:n]
	at := 0
	text := bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\ufeff")), " \t\r\n")
	if len(text) > 9 && strings.EqualFold(string(text[:9]), "<!doctype") {
		at = bytes.IndexByte(first, '>') + 1
	}
	rest := page
	if err != nil {
		rest = failing{err} // io.EOF, if the page is this short
	}
	script := strings.NewReplacer(`"PASS"`, `"`+pass+`"`, `"ACT"`, `"`+act+`"`, `"BASE"`, `"`+own+`"`, "ACTIONS", strings.Join(slices.Sorted(maps.Keys(actions)), "|")).Replace(shim)
	return io.MultiReader(bytes.NewReader(first[:at]), strings.NewReader(script), bytes.NewReader(first[at:]), rest)
}

// failing is a reader that has nothing but an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
