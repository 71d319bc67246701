/* tools/forge/task.c - the table of models; see task.h. */
#include "task.h"

#include <string.h>

static const struct model models[] = {
    {"mlp", &task_images, model_mlp},
    {"cnn", &task_images, model_cnn},
    {"resnet18", &task_images, model_resnet18, 64, true},
    {"gpt", &task_text, model_gpt, 128, true},
};

const struct model *model_find(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

const char *model_name(size_t i)
{
    return i < sizeof models / sizeof *models ? models[i].name : NULL;
}
