from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("studies", "0003_fill_visits")]
    operations = [
        migrations.RemoveField(model_name="judge", name="answered_before"),
        migrations.RemoveField(model_name="judge", name="assignment"),
    ]
