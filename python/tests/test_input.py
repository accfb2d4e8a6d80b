"""Tests of heddle.open_input, against an HTTP server that answers as WebHDFS does."""

import http.server
import os
import sys
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import heddle


class WebHDFS(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        path = urllib.parse.unquote(url.path)
        if path == "/data":  # a DataNode
            return self.answer(200, b"the file of " + query["who"][0].encode())
        assert query["op"] == ["OPEN"], query
        if path == "/webhdfs/v1/in/a file":
            return self.answer(307, b"", "http://%s/data?who=%s" % (self.headers["Host"], query["user.name"][0]))
        if path == "/webhdfs/v1/secret":
            return self.answer(403, b'{"RemoteException":{"exception":"AccessControlException","message":"Permission denied: user=x\\nat"}}')
        if path == "/webhdfs/v1/odd":
            return self.answer(500, b"<html>")
        self.answer(404, b'{"RemoteException":{"exception":"FileNotFoundException","message":"File does not exist: /none"}}')

    def answer(self, code, body, location=None):
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class InputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WebHDFS)
        cls.thread = threading.Thread(target=cls.server.serve_forever)
        cls.thread.start()
        cls.address = "http://127.0.0.1:%d" % cls.server.server_port

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.thread.join()

    def setUp(self):
        names = ("HEDDLE_STAGED_INPUT", "HEDDLE_WEBHDFS", "HADOOP_CONF_DIR", "HADOOP_USER_NAME")
        patch = mock.patch.dict(os.environ)
        patch.start()
        self.addCleanup(patch.stop)
        for n in names:
            os.environ.pop(n, None)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def read(self, *args, **more):
        with heddle.open_input(*args, **more) as f:
            return f.read()

    def test_memory_first_then_hdfs(self):
        os.environ["HEDDLE_WEBHDFS"] = self.address
        os.environ["HEDDLE_STAGED_INPUT"] = self.write("copy", "in memory")
        self.assertEqual(self.read("/in/a file"), b"in memory")
        os.environ["HEDDLE_STAGED_INPUT"] += "-lost"
        self.assertEqual(self.read("/in/a file", user="anna"), b"the file of anna")
        del os.environ["HEDDLE_STAGED_INPUT"]
        os.environ["HADOOP_USER_NAME"] = "bob"
        self.assertEqual(self.read("hdfs://any:1/in/a%20file"), b"the file of bob")
        self.assertEqual(self.read("file://" + self.write("x", "here")), b"here")

    def test_the_namenode_of_the_configuration(self):
        value = "<configuration><property><name>%s</name><value> %s </value></property></configuration>"
        self.write("core-site.xml", value % ("fs.defaultFS", "hdfs://127.0.0.1:1"))
        self.write("hdfs-site.xml", value % ("dfs.namenode.http-address", "0.0.0.0:%d" % self.server.server_port))
        self.assertEqual(self.read("/in/a file", conf=self.folder, user="anna"), b"the file of anna")
        os.environ["HADOOP_CONF_DIR"] = self.folder
        self.assertEqual(self.read("/in/a file", user="anna"), b"the file of anna")
        self.write("hdfs-site.xml", "<configuration")
        with self.assertRaisesRegex(ValueError, "hdfs-site.xml"):
            self.read("/in/a file")

    def test_errors_say_what_to_do(self):
        with self.assertRaisesRegex(FileNotFoundError, "set webhdfs= or .HEDDLE_WEBHDFS"):
            self.read("/none")
        for name, error, text in (
                ("/none", FileNotFoundError, "does not exist"), ("/secret", PermissionError, "Permission denied"), ("/odd", OSError, "/odd can't be read"),
                ("relative", ValueError, "from / on"), ("s3://bucket/x", ValueError, "hdfs://"),
        ):
            with self.assertRaisesRegex(error, text):
                self.read(name, webhdfs=self.address)
        with self.assertRaisesRegex(OSError, "127.0.0.1:1"):
            self.read("/in/a file", webhdfs="http://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
