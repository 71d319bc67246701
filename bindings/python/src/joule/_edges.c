/* joule/_edges.c - the edges of joule.region in C, cheaper than a call of a Python function.
 *
 * The module calls joule_begin_with and joule_end through addresses that regions.py takes from ctypes. So it
 * is not linked with libjoule. Without this module, regions.py does the same in Python.
 */
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <joule/region.h>

#define MAX_OPEN 64 /* open blocks of one Region object, in all threads */

static joule_region (*begin_with)(uint32_t tag, uint32_t flags);
static joule_status (*end_region)(joule_region *region);

struct open_region {
    unsigned long thread;
    joule_region region;
};

/* A region with a name. The interpreter's lock protects the list of its open blocks. */
typedef struct edges {
    PyObject_HEAD uint32_t tag, flags, open_count;
    struct open_region open[MAX_OPEN];
} edges;

static int edges_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    edges *it = (edges *)self;
    unsigned tag, flags;
    if (keywords != NULL && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Edges takes no keyword arguments");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "II:Edges", &tag, &flags))
        return -1;
    it->tag = tag;
    it->flags = flags;
    it->open_count = 0;
    return 0;
}

static PyObject *edges_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    edges *it = (edges *)self;
    if (it->open_count >= MAX_OPEN)
        return PyErr_Format(PyExc_RuntimeError, "cannot begin the region: it is open %d times", MAX_OPEN);
    joule_region region = begin_with(it->tag, it->flags);
    if (it->open_count >= MAX_OPEN) { /* the hook for the GPU may have run other threads */
        end_region(&region);
        return PyErr_Format(PyExc_RuntimeError, "cannot begin the region: it is open %d times", MAX_OPEN);
    }
    struct open_region *last = &it->open[it->open_count++];
    last->thread = PyThread_get_thread_ident();
    last->region = region;
    Py_INCREF(self);
    return self;
}

static PyObject *edges_exit(PyObject *self, PyObject *unused)
{
    (void)unused;
    edges *it = (edges *)self;
    unsigned long thread = PyThread_get_thread_ident();
    uint32_t i = it->open_count;
    while (i > 0 && it->open[i - 1].thread != thread)
        i--;
    if (i == 0)
        return PyErr_Format(PyExc_RuntimeError, "cannot end the region: this thread has not begun it");
    joule_region region = it->open[i - 1].region;
    it->open_count--;
    for (; i <= it->open_count; i++)
        it->open[i - 1] = it->open[i];
    end_region(&region);
    Py_RETURN_NONE;
}

static PyMethodDef edges_methods[] = {
    {"__enter__", edges_enter, METH_NOARGS, "Begins the region in this thread."},
    {"__exit__", edges_exit, METH_VARARGS, "Ends the last open block of this thread."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot edges_slots[] = {
    {Py_tp_doc, "Edges(tag, flags): begins and ends a region of libjoule."},
    {Py_tp_init, edges_init},
    {Py_tp_methods, edges_methods},
    {0, NULL},
};

static PyType_Spec edges_spec = {
    .name = "joule._edges.Edges",
    .basicsize = sizeof(edges),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = edges_slots,
};

/* connect(begin_with, end): sets the addresses of the two functions of libjoule. */
static PyObject *connect(PyObject *module, PyObject *arguments)
{
    (void)module;
    unsigned long long begin, end;
    if (!PyArg_ParseTuple(arguments, "KK:connect", &begin, &end))
        return NULL;
    begin_with = (joule_region(*)(uint32_t, uint32_t))(uintptr_t)begin;
    end_region = (joule_status(*)(joule_region *))(uintptr_t)end;
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"connect", connect, METH_VARARGS, "Sets the addresses of joule_begin_with and joule_end."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "joule._edges",
    .m_size = -1,
    .m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__edges(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL)
        return NULL;
    PyObject *type = PyType_FromSpec(&edges_spec);
    if (type == NULL || PyModule_AddObject(module, "Edges", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
