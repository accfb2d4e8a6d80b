"""The input of a short task: its copy in the node's memory, or the file on HDFS by WebHDFS."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

_VARIABLE = "HEDDLE_STAGED_INPUT"
_ADDRESS = "HEDDLE_WEBHDFS"


def open_input(name, *, webhdfs=None, user=None, conf=None, timeout=60):
    """Opens a file of HDFS for reading, as a binary file object.

    In a command of `heddle xargs --probes --stage` it opens the copy that the node has made in memory, if there is one
    ($HEDDLE_STAGED_INPUT). Otherwise it reads the file itself by WebHDFS, at the address webhdfs (http://HOST:PORT),
    by default that in $HEDDLE_WEBHDFS, or that of the NameNode in the configuration folder conf ($HADOOP_CONF_DIR).
    name is a path, or a URI hdfs://HOST:PORT/PATH; a URI file:///PATH is a file of this machine. user is who reads, where the
    cluster has no Kerberos (default: $HADOOP_USER_NAME, or whoever runs this). timeout is how long the cluster may take to
    answer, in seconds.
    """
    staged = os.environ.get(_VARIABLE)
    if staged:
        try:
            return open(staged, "rb")
        except OSError:
            pass  # the copy has got lost since the task began: the file itself is still there
    parts = urllib.parse.urlsplit(name)
    if parts.scheme == "file":
        return open(urllib.parse.unquote(parts.path), "rb")
    if parts.scheme not in ("", "hdfs", "webhdfs"):
        raise ValueError("%s: open_input reads hdfs:// and file:// only" % name)
    path = urllib.parse.unquote(parts.path) if parts.scheme else name
    if not path.startswith("/"):
        raise ValueError("%s: give the whole path, from / on" % name)
    address = webhdfs or os.environ.get(_ADDRESS) or _of_conf(conf or os.environ.get("HADOOP_CONF_DIR"))
    if not address:
        raise FileNotFoundError("%s isn't in memory here, and the NameNode isn't known: set webhdfs= or $%s to http://HOST:PORT, "
                                "or $HADOOP_CONF_DIR to a folder whose hdfs-site.xml has dfs.namenode.http-address" % (name, _ADDRESS))
    query = {"op": "OPEN"}
    user = user or os.environ.get("HADOOP_USER_NAME") or _me()
    if user:
        query["user.name"] = user
    url = "%s/webhdfs/v1%s?%s" % (address.rstrip("/"), urllib.parse.quote(path), urllib.parse.urlencode(query))
    try:
        return urllib.request.urlopen(url, timeout=timeout)
    except urllib.error.HTTPError as e:
        with e:
            raise _said(name, address, e) from None
    except OSError as e:
        raise OSError("%s can't be read from %s: %s" % (name, address, e)) from e


def _me():
    try:
        import pwd
        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return None


def _said(name, address, e):
    """What WebHDFS says of an error, as the exception that open would raise."""
    try:
        remote = json.loads(e.read(1 << 16))["RemoteException"]
        kind, text = str(remote["exception"]), str(remote["message"]).split("\n")[0]
    except (ValueError, KeyError, TypeError, OSError):
        kind, text = "", str(e)
    if e.code == 401:
        text += " (this reader has no Kerberos: read with hdfs dfs -cat)"
    made = {"FileNotFoundException": FileNotFoundError, "AccessControlException": PermissionError}.get(kind, OSError)
    return made("%s can't be read from %s: %s" % (name, address, text))


def _of_conf(folder):
    """The NameNode's address for HTTP by a configuration folder, or None."""
    if not folder:
        return None
    keys = {}
    for file in ("core-site.xml", "hdfs-site.xml"):
        try:
            tree = xml.etree.ElementTree.parse(os.path.join(folder, file))
        except FileNotFoundError:
            continue
        except xml.etree.ElementTree.ParseError as e:
            raise ValueError("%s: %s" % (os.path.join(folder, file), e)) from e
        for p in tree.iter("property"):
            keys[(p.findtext("name") or "").strip()] = (p.findtext("value") or "").strip()
    service = urllib.parse.urlsplit(keys.get("fs.defaultFS", ""))
    for key in ["dfs.namenode.http-address"] + sorted(k for k in keys if k.startswith("dfs.namenode.http-address.")):
        if keys.get(key):
            host, _, port = keys[key].rpartition(":")
            if host in ("0.0.0.0", ""):
                host = service.hostname or host
            return "http://%s:%s" % (host, port)
    if service.scheme == "hdfs" and service.hostname:
        return "http://%s:9870" % service.hostname
    return None
